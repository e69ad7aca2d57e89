"""Two users over one file never see each other, on any path, whatever they do to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("langchain.agents", reason="needs the extra agents")
pytest.importorskip("langchain_classic", reason="needs the extra classic")

from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.messages import HumanMessage
from langchain_core.vectorstores import InMemoryVectorStore

from ebbmem import MemoryBank
from ebbmem.testing import HashingEmbedder, ManualClock
from kit import Scripted, numbered
from langchain_ebbmem import (
    EbbinghausChatMessageHistory,
    EbbinghausMemory,
    EbbinghausMiddleware,
    EbbinghausRecall,
    EbbinghausRetriever,
    EbbinghausStore,
    EbbinghausVectorStore,
    create_forget_tool,
    create_recall_tool,
    create_remember_tool,
    with_ebbinghaus_memory,
)
from tables import Table

USERS = {  # names that look alike
    "A": ("team", "a"),
    "B": ("team_a",),
    "C": ("team",),
    "D": ("team", "a", "x"),
}
MARKS = {user: f"marker{user.lower() * 4}" for user in USERS}
QUESTION = "what do I like? marker tea"


class Person:
    """Every way in and out that one user has; `read` gives whatever came out, as text."""

    def __init__(self, bank: MemoryBank, user: str) -> None:
        self.user, self.mark, self.names = user, MARKS[user], USERS[user]
        self.bank = bank.at(*self.names)
        self.count = 0
        model: Callable[[], Scripted] = numbered
        self.agent_model, self.chain_model = model(), model()
        self.retriever = EbbinghausRetriever(memory=bank, namespace=self.names, min_similarity=-1)
        self.vectors = EbbinghausVectorStore(memory=bank, namespace=self.names)
        self.classic = EbbinghausMemory(memory=bank, namespace=self.names)
        self.recaller = EbbinghausRecall(memory=bank, namespace=self.names, k=50, budget=10_000)
        self.chain = with_ebbinghaus_memory(
            lambda given: self.chain_model.invoke(str(given)),
            bank,
            namespace=self.names,
            budget=10_000,
        )
        self.agent: Any = create_agent(
            self.agent_model,
            [],
            middleware=[EbbinghausMiddleware(bank, namespace=self.names, budget=10_000)],
        )
        self.store = EbbinghausStore(memory=self.bank)
        self.recall_tool = create_recall_tool(bank, namespace=self.names)
        self.remember_tool = create_remember_tool(bank, namespace=self.names)
        self.forget_tool = create_forget_tool(bank, namespace=self.names)

    def history(self, session: str) -> EbbinghausChatMessageHistory:
        return EbbinghausChatMessageHistory(self.bank, session)

    def text(self) -> str:
        self.count += 1
        return f"{self.mark} I like tea number {self.count}"

    # -- ways in ---------------------------------------------------------------------------------

    def write(self, way: str) -> None:
        text, key = self.text(), f"k{self.count % 3}"
        session: Any = {"configurable": {"session_id": "s", "thread_id": "s"}}
        ways: dict[str, Callable[[], object]] = {
            "retriever": lambda: self.retriever.add_documents(
                [Document(page_content=text, id=key)]
            ),
            "vectors": lambda: self.vectors.add_texts([text], [{"of": self.mark}], ids=[key]),
            "classic": lambda: self.classic.save_context({"input": text}, {"output": text}),
            "chain": lambda: self.chain.invoke({"input": text}, session),
            "agent": lambda: self.agent.invoke({"messages": [("user", text)]}, session),
            "history": lambda: self.history("s").add_messages([HumanMessage(text, id=key)]),
            "store": lambda: self.store.put(("notes",), key, {"text": text}),
            "tool": lambda: self.remember_tool.invoke({"content": text}),
        }
        ways[way]()

    # -- ways out --------------------------------------------------------------------------------

    def read(self) -> str:
        session: Any = {"configurable": {"session_id": "s", "thread_id": "s"}}
        self.agent.invoke({"messages": [("user", QUESTION)]}, session)
        self.chain.invoke({"input": QUESTION}, session)
        out: list[object] = [
            self.retriever.invoke(QUESTION, k=50),
            self.vectors.similarity_search(QUESTION, k=50),
            self.vectors.similarity_search_with_relevance_scores(QUESTION, k=50),
            self.vectors.max_marginal_relevance_search(QUESTION, k=50, fetch_k=50),
            self.vectors.get_by_ids(["k0", "k1", "k2"]),
            self.vectors.similarity_search(QUESTION, k=50, filter=lambda document: True),
            self.classic.load_memory_variables({"input": QUESTION}),
            self.recaller.invoke(QUESTION),
            self.agent_model.last,
            self.chain_model.last,
            self.history("s").messages,
            self.store.search((), query=QUESTION, limit=50),
            self.store.search((), limit=50),
            [self.store.get(("notes",), f"k{n}") for n in range(3)],
            self.store.list_namespaces(),
            self.recall_tool.invoke({"query": QUESTION, "limit": 20}),
            self.bank.list(include_faded=True),
        ]
        return "\n".join(repr([getattr(each, "text", each)]) for each in _flat(out))

    # -- what else can be done -------------------------------------------------------------------

    def forget(self, way: str) -> None:
        ids = [each.id for each in self.bank.list()]
        if way == "tool" and ids:
            self.forget_tool.invoke({"id": ids[0]})
        elif way == "classic":
            self.classic.clear()
        elif way == "history":
            self.history("s").clear()
        elif way == "vectors":
            self.vectors.delete()
        elif way == "store":
            self.store.delete(("notes",), "k0")


def _flat(values: object) -> list[object]:
    if isinstance(values, list | tuple):
        return [each for value in values for each in _flat(value)]
    return [values]


WRITES = ["retriever", "vectors", "classic", "chain", "agent", "history", "store", "tool"]
FORGETS = ["tool", "classic", "history", "vectors", "store"]
steps = st.tuples(
    st.sampled_from(sorted(USERS)),
    st.sampled_from([("write", way) for way in WRITES] + [("forget", way) for way in FORGETS])
    | st.just(("read", "")),
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(steps, min_size=4, max_size=16))
def test_6_nobody_ever_gets_a_word_of_another(script: list[tuple[str, tuple[str, str]]]) -> None:
    clock = ManualClock()
    with MemoryBank.open(namespace="root", embedder=HashingEmbedder(), clock=clock) as bank:
        people = {user: Person(bank, user) for user in USERS}
        before: dict[str, int] = {}
        for user, (what, way) in script:
            clock.advance(minutes=7)
            before = {each: len(people[each].bank.list(include_faded=True)) for each in people}
            if what == "write":
                people[user].write(way)
            elif what == "forget":
                people[user].forget(way)
            else:
                people[user].read()
            for each, person in people.items():
                if each != user and not (what == "write" and way == "store"):
                    assert len(person.bank.list(include_faded=True)) == before[each]
        for user, person in people.items():
            seen = person.read()
            for other, mark in MARKS.items():
                inside = USERS[other][: len(USERS[user])] == USERS[user]
                assert mark not in seen or other == user or inside, f"{user} reads {other}"


def test_what_somebody_wrote_is_read_by_them_on_every_path() -> None:
    """So that the property above is about something."""
    with MemoryBank.open(namespace="root", embedder=HashingEmbedder()) as bank:
        person = Person(bank, "A")
        for way in WRITES:
            person.write(way)
        seen = [each for each in person.read().split("\n") if MARKS["A"] in each]
        assert len(seen) > 40


def test_7_one_name_in_two_tuples_is_two_namespaces() -> None:
    with MemoryBank.open(namespace="root", embedder=None) as bank:
        EbbinghausRetriever(memory=bank, namespace=("team_a",)).add_documents(
            [Document(page_content="tea", id="x")]
        )
        assert EbbinghausRetriever(memory=bank, namespace=("team", "a")).invoke("tea") == []


def test_documents_beside_a_vector_store_live_apart_for_each_user() -> None:
    vectors = InMemoryVectorStore(Table())
    vectors.add_texts(["tea"], ids=["t"])
    with MemoryBank.open(namespace="root", embedder=None) as bank:
        for user in ("alice", "bob"):
            beside = EbbinghausRetriever.from_vectorstore(vectors, memory=bank, namespace=user)
            assert [each.id for each in beside.invoke("tea")] == ["t"]
        bank.at("alice").beside("documents").forget("t")
        found = [
            EbbinghausRetriever.from_vectorstore(vectors, memory=bank, namespace=user).invoke("tea")
            for user in ("alice", "bob")
        ]
        assert [len(each) for each in found] == [0, 1]


def test_the_transcripts_of_two_sessions_never_mix() -> None:
    with MemoryBank.open(namespace="alice", embedder=None) as bank:
        one = EbbinghausChatMessageHistory(bank, "s1")
        two = EbbinghausChatMessageHistory(bank, "s10")
        one.add_messages([HumanMessage("tea", id="m")])
        two.add_messages([HumanMessage("milk", id="m")])
        assert [each.content for each in one.messages] == ["tea"]
        assert [each.content for each in two.messages] == ["milk"]

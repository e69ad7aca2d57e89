"""Measurements that anyone can repeat, of recall and of forgetting, through the public bank."""

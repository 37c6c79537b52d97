"""The collector runs at nearly every allocation, weak references call back."""
import gc
import weakref

gc.set_threshold(3, 2, 2)
called = []


class Node:
    pass


for i in range(3000):
    one, other = Node(), Node()
    one.other, other.other = other, one
    weakref.finalize(one, called.append, [i, str(i)])
del one, other
gc.collect()
print(len(called), called[0])

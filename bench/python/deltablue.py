"""Constraints between variables, planned and propagated, in the manner of DeltaBlue."""
import sys


class Variable:
    def __init__(self, value):
        self.value, self.constraints, self.mark = value, [], 0


class Scale:
    def __init__(self, source, scale, offset, target):
        self.source, self.scale, self.offset, self.target = source, scale, offset, target
        source.constraints.append(self)

    def execute(self):
        self.target.value = self.source.value * self.scale.value + self.offset.value


class Plan(list):
    def execute(self):
        for constraint in self:
            constraint.execute()


def plan_from(variable, mark):
    plan, todo = Plan(), [variable]
    while todo:
        variable = todo.pop()
        if variable.mark == mark:
            continue
        variable.mark = mark
        for constraint in variable.constraints:
            plan.append(constraint)
            todo.append(constraint.target)
    return plan


def chain(count):
    scale, offset = Variable(1), Variable(1)
    variables = [Variable(0) for _ in range(count)]
    for source, target in zip(variables, variables[1:]):
        Scale(source, scale, offset, target)
    for mark in range(1, 6):
        plan = plan_from(variables[0], mark)
        for value in range(5):
            variables[0].value = value
            plan.execute()
            assert variables[-1].value == value + count - 1


for turn in range(int(sys.argv[1])):
    chain(100)

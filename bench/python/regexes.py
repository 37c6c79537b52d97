"""Searches in text by regular expressions."""
import re
import sys

TEXT = "\n".join(f'10.0.{i % 256}.{i % 199} - user{i} [0{i % 9}/Jan/2020] "GET /path/{i}?q={i}'
                 f' HTTP/1.1" 200 {i * 17} a{i}@example.org' for i in range(200))
LINE = re.compile(r'(\S+) - (\S+) \[([^\]]+)\] "(\w+) ([^"]*)" (\d+) (\d+)')
MAIL, WORD = re.compile(r"[\w.]+@[\w.]+\.\w+"), re.compile(r"\b[a-z]+(?=\d)")
for turn in range(int(sys.argv[1])):
    assert len([match.groups() for match in LINE.finditer(TEXT)]) == 200
    assert len(MAIL.findall(TEXT)) == 200
    WORD.sub(lambda match: match.group().upper(), TEXT)

# A program that adds numbered lines to a file through a shared mapping: the stores carry no write call and, on most
# file systems, no new time stamp. Speaks to the test through stdin and stdout.
import json
import mmap
import os
import random
import sys
import time

settings = json.loads(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
acknowledged = []
number = 0
while number < settings["writes"]:
    number += 1
    line = b"w%d\n" % number
    try:
        fd = os.open(settings["target"], os.O_RDWR)
    except FileNotFoundError:
        number -= 1
        continue
    size = os.fstat(fd).st_size
    os.ftruncate(fd, size + len(line))
    mapped = mmap.mmap(fd, size + len(line))
    mapped[size : size + len(line)] = line
    mapped.close()
    os.close(fd)
    acknowledged.append(number)
    # Irregular, and long enough for a commit to fit in between.
    until = time.perf_counter() + random.random() * 0.0002
    while time.perf_counter() < until:
        pass
print(json.dumps(acknowledged), flush=True)

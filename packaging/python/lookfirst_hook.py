"""Sends Lookfirst's generic hook events (docs/hooks.md). One file, no dependencies, Python 3.8 or later.

    from lookfirst_hook import Denied, Lookfirst

    gate = Lookfirst(session="agent-7", cwd="/repo")
    gate.after("read", {"path": "a.txt"}, output=text)     # the model was shown this text
    call = gate.before("write", {"path": "a.txt", "content": new})   # raises Denied: show its text to the model
    ...                                                    # write the file
    gate.after("write", {"path": "a.txt", "content": new}, call=call)
"""

import json
import os
import subprocess
import uuid


class Denied(Exception):
    """The call must not be carried out. The text says why and what to do instead."""


class Lookfirst:
    def __init__(self, session, cwd=None, agent=None, roots=None, command=("lookfirst",)):
        self.session = session
        self.agent = agent
        self.cwd = os.path.abspath(cwd or os.getcwd())
        self.roots = roots
        self.command = tuple(command)
        self.turn = None

    def before(self, action, arguments, call=None):
        """Asks whether a read, write, edit, delete, move or run may be carried out. Returns the id of the call."""
        call = call or uuid.uuid4().hex
        self._send("before", action=action, input=arguments, call=call)
        return call

    def after(self, action, arguments, output=None, call=None):
        """Reports a call that was carried out. Returns a text for the model, or None."""
        return self._send("after", action=action, input=arguments, output=output, call=call).get("context")

    def failed(self, action, arguments, error="", call=None):
        """Reports a call that failed."""
        self._send("failed", action=action, input=arguments, error=error, call=call)

    def prompt(self, text, turn=None):
        """Reports a user prompt, which begins a turn. Returns a text for the model, or None."""
        self.turn = turn or uuid.uuid4().hex
        return self._send("prompt", prompt=text).get("context")

    def compacted(self):
        """Reports that the model's context was summarised."""
        self._send("compacted")

    def end(self):
        self._send("end")

    def _send(self, event, **fields):
        payload = {"event": event, "session": self.session, "agent": self.agent, "turn": self.turn,
                   "cwd": self.cwd, "roots": self.roots, **fields}
        text = json.dumps({name: value for name, value in payload.items() if value is not None})
        done = subprocess.run([*self.command, "hook", "generic", "--event", event], input=text,
                              capture_output=True, text=True, cwd=self.cwd)
        if done.returncode == 2:
            raise Denied(done.stderr.strip())
        if done.returncode != 0:
            raise Denied("Lookfirst did not answer (exit %d): %s" % (done.returncode, done.stderr.strip()))
        return json.loads(done.stdout) if done.stdout.strip() else {}

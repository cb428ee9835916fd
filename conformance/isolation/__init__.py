"""A subject in a process of its own: it may crash, hang or speak nonsense, and the run goes on.

`harness` is what runs there for a subject in Python, `guard` what stands between it and us, `process` that as
the suite sees it, `host` the subject that is started again when its process ends, and the two proxies what `judge` is
handed.
The messages between them are those of `schemas/protocol.schema.json`, the same as of a harness in any language.
"""

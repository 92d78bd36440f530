"""One database on several machines, with Ray.

>>> import ray, pypapir.ray
>>> ray.init()
>>> pypapir.ray.serve(pypapir.ray.Shards.start("words.papir", 4))
'http://127.0.0.1:8000'

Every existing client works unchanged. Connections and TLS are those of Ray Serve; paths, tokens, limits,
metrics and versions are those of `papir serve`.
"""

from pypapir.ray._building import build
from pypapir.ray._front import application, serve
from pypapir.ray._shards import Place, Shards

__all__ = ["Place", "Shards", "application", "build", "serve"]

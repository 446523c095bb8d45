#!/usr/bin/env python3
"""Records the goldens of this directory from a running kube-apiserver.

usage: record.py URL TOKEN ETCD_URL

URL is a fresh, throw-away kube-apiserver with --runtime-config=api/all=true and
all alpha and beta feature gates on, without other components. For each resource
of kinds.py it creates objects, asks for them twice as a Table, some time apart,
and writes <group>_<resource>.json (objects that no client can create, because
they are too old or in a state that validation forbids, go straight to etcd):

  at         when the second answer was made
  datePaths  the source of each column, for custom resources
  before     the first answer, includeObject=Object, byte for byte
  after      the second answer, includeObject=None, byte for byte

All timestamps of the objects are whole seconds, and a pair of answers is only
kept when the second one was made within one second of the clock, so no cell
depends on which moment inside of it. columns.json holds the column
definitions of every built-in resource that can be listed, without descriptions.
"""
import base64
import json
import os
import ssl
import sys
import time
import urllib.error
import urllib.request
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

import kinds

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
MINE = "labelSelector=ages%3Drecorded"


class Server:
    def __init__(self, url, token):
        self.url, self.token = url, token
        self.tls = ssl._create_unverified_context()

    def ask(self, path, method="GET", body=None, accept="application/json", kind="application/json"):
        """Returns the answer's bytes and its Date."""
        request = urllib.request.Request(self.url + path, method=method)
        request.add_header("Authorization", "Bearer " + self.token)
        request.add_header("User-Agent", "ages")
        request.add_header("Accept", accept)
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", kind)
        with urllib.request.urlopen(request, context=self.tls) as answer:
            return answer.read(), parsedate_to_datetime(answer.headers["Date"])

    def get(self, path):
        return json.loads(self.ask(path)[0])

    def merge(self, path, patch):
        return self.ask(path, "PATCH", patch, kind="application/merge-patch+json")


def collection(resource, namespace="default"):
    group, version = resource["group"], resource["version"]
    root = f"/apis/{group}/{version}" if group else f"/api/{version}"
    if resource["namespaced"] and namespace:
        root += f"/namespaces/{namespace}"
    return f"{root}/{resource['name']}"


def discover(server):
    """Every listable resource of every version, preferred versions first."""
    versions = [("", "v1", True)]
    for group in server.get("/apis")["groups"]:
        preferred = group["preferredVersion"]["version"]
        versions += [(group["name"], v["version"], v["version"] == preferred) for v in group["versions"]]
    found = []
    for group, version, preferred in versions:
        root = f"/apis/{group}/{version}" if group else f"/api/{version}"
        if group in kinds.UNSERVED:
            continue
        for r in server.get(root)["resources"]:
            if "list" in r["verbs"] and "/" not in r["name"]:
                found.append({"group": group, "version": version, "name": r["name"], "kind": r["kind"],
                              "namespaced": r["namespaced"], "preferred": preferred})
    return found


def create(server, resource, spec):
    """Creates one object, sets its status, then drops its managedFields."""
    spec = json.loads(json.dumps(spec))
    status, name = spec.pop("status", None), spec["metadata"]["name"]
    spec["kind"] = resource["kind"]
    spec["apiVersion"] = (resource["group"] + "/" if resource["group"] else "") + resource["version"]
    spec["metadata"].setdefault("labels", {})["ages"] = "recorded"
    try:
        server.ask(collection(resource), "POST", spec)
        path = collection(resource) + "/" + name
        if status:
            custom = resource["group"] == kinds.CUSTOM_GROUP  # without a status subresource
            server.merge(path + ("" if custom else "/status"), {"status": status})
        server.merge(path, {"metadata": {"managedFields": [{}]}})
    except urllib.error.HTTPError as e:
        print("create", resource["group"], resource["name"], name, e.code, e.read().decode()[:600])


def store(etcd, resource, spec):
    """Writes one object into etcd, past all validation."""
    name = spec["metadata"]["name"]
    scope = "default/" if resource["namespaced"] else ""
    metadata = {"namespace": scope[:-1], "uid": name, "labels": {"ages": "recorded"}, "creationTimestamp": kinds.ago(60)}
    api = (resource["group"] + "/" if resource["group"] else "") + resource["version"]
    body = {"kind": resource["kind"], "apiVersion": api, **spec, "metadata": {**metadata, **spec["metadata"]}}
    put = {"key": f"/registry/{resource['name']}/{scope}{name}", "value": json.dumps(body)}
    put = {k: base64.b64encode(v.encode()).decode() for k, v in put.items()}
    urllib.request.urlopen(etcd + "/v3/kv/put", json.dumps(put).encode()).read()


def record_later(server, path):
    """The second answer, made within one second of the clock."""
    while True:
        time.sleep(max(0, 0.2 - time.time() % 1))
        started = time.time()
        body, date = server.ask(path, accept=TABLE)
        if int(started) == int(time.time()) == int(date.timestamp()):
            return body, datetime.fromtimestamp(started, timezone.utc).isoformat().replace("+00:00", "Z")


def write(resource, paths, before, after, at):
    name = f"{resource['group'] or 'core'}_{resource['name']}.json"
    with open(os.path.join(HERE, name), "wb") as f:
        f.write(b'{"at":"' + at.encode() + b'",\n"group":"' + resource["group"].encode() +
                b'","resource":"' + resource["name"].encode() +
                b'",\n"datePaths":' + json.dumps(paths).encode() +
                b',\n"before":' + before.strip() + b',\n"after":' + after.strip() + b"}\n")


def record_columns(server, resources):
    rows = []
    for r in resources:
        table = json.loads(server.ask(collection(r, None) + "?limit=1&includeObject=None", accept=TABLE)[0])
        columns = [{k: v for k, v in c.items() if v and k != "description"} for c in table["columnDefinitions"]]
        rows.append(json.dumps({"group": r["group"], "version": r["version"], "resource": r["name"],
                                "columnDefinitions": columns}, separators=(",", ":")))
    with open(os.path.join(HERE, "columns.json"), "w") as f:
        f.write("[\n" + ",\n".join(rows) + "\n]\n")


def main():
    server = Server(sys.argv[1], sys.argv[2])
    builtin = [r for r in discover(server) if r["name"] != "componentstatuses"]
    record_columns(server, builtin)
    for crd in kinds.DEFINITIONS:
        server.ask("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "POST", crd)
    time.sleep(5)
    chosen = [r for r in discover(server) if (r["group"], r["name"]) in kinds.OBJECTS and r["preferred"] or
              (r["group"], r["version"], r["name"]) in kinds.NOT_PREFERRED]
    for resource in chosen:
        for spec in kinds.OBJECTS[resource["group"], resource["name"]]:
            create(server, resource, spec)
        for spec in kinds.STORED.get((resource["group"], resource["name"]), []):
            store(sys.argv[3], resource, spec)
    recorded = []
    for resource in chosen:
        path = collection(resource) + "?" + MINE
        before, _ = server.ask(path + "&includeObject=Object", accept=TABLE)
        recorded.append((resource, path, before))
    time.sleep(kinds.APART)
    for resource, path, before in recorded:
        after, at = record_later(server, path + "&includeObject=None")
        write(resource, kinds.DATE_PATHS.get(resource["name"]), before, after, at)


main()

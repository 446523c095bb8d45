"""What record.py creates: one object or more for every kind with an age."""
import time

APART = 21  # seconds between the two answers
CUSTOM_GROUP = "ages.example.com"
UNSERVED = ("nowhere.example.com",)  # the group of the recorded APIService
NOT_PREFERRED = {("resource.k8s.io", "v1alpha3", "resourcepoolstatusrequests"),
                 ("coordination.k8s.io", "v1beta1", "leasecandidates"),
                 ("scheduling.k8s.io", "v1beta1", "podgroups"), ("scheduling.k8s.io", "v1beta1", "workloads"),
                 ("scheduling.k8s.io", "v1alpha3", "compositepodgroups")}
NOW = int(time.time())


def ago(seconds, micro=False):
    """A timestamp that many seconds back, negative for the future."""
    text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(NOW - seconds))
    return text + (".000000Z" if micro else "Z")


def named(name, **rest):
    return {"metadata": {"name": name}, **rest}


MINUTE, HOUR, DAY = 60, 3600, 86400
CONTAINER = {"name": "c", "image": "i"}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [CONTAINER]}}
BATCH = {"spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}
SELECTOR = {"matchLabels": {"a": "b"}}
RULES = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["leases"]}
WEBHOOK = {"name": "a.example.com", "clientConfig": {"url": "https://a.example.com"}, "sideEffects": "None",
           "admissionReviewVersions": ["v1"], "failurePolicy": "Ignore",
           "objectSelector": {"matchLabels": {"never": "matches"}}}


def container(name, restarts, finished=None, state=None, **rest):
    status = {"name": name, "image": "i", "imageID": "x", "ready": False, "restartCount": restarts,
              "state": state or {"running": {"startedAt": ago(60)}}, **rest}
    if finished is not None:
        status["lastState"] = {"terminated": {"exitCode": 1, "finishedAt": ago(finished)}}
    return status


DONE = {"terminated": {"exitCode": 0, "reason": "Completed"}}
FAILED = {"terminated": {"exitCode": 7}}
WAITING = {"waiting": {"reason": "CrashLoopBackOff"}}


def pod(name, status, init=()):
    inits = [{"name": n, "image": "i", **({"restartPolicy": "Always"} if n.startswith("side") else {})} for n in init]
    containers = [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]
    return named(name, spec={"containers": containers, "initContainers": inits}, status=status)


PODS = [
    pod("quiet", {"phase": "Running", "containerStatuses": [container("c", 0), container("d", 0)]}),
    pod("never-restarted-but-ended", {"containerStatuses": [container("c", 0, 300)]}),
    pod("restarts-without-an-end", {"containerStatuses": [container("c", 4)]}),
    pod("two-restarting", {"containerStatuses": [container("c", 3, 2 * HOUR), container("d", 2, 5 * MINUTE)]}),
    pod("crosses-three-hours", {"containerStatuses": [container("c", 3, 3 * HOUR - 12), container("d", 0)]}),
    pod("days", {"containerStatuses": [container("c", 30, 9 * DAY)]}),
    pod("future", {"containerStatuses": [container("c", 1, -2 * HOUR)]}),
    pod("init-failing", {"initContainerStatuses": [
        container("a", 1, 40 * MINUTE, DONE), container("b", 2, 50 * MINUTE, FAILED), container("z", 5, 1 * MINUTE)],
        "containerStatuses": [container("c", 9, 30)]}, init=["a", "b", "z"]),
    pod("init-failing-yet-initialized", {"initContainerStatuses": [
        container("a", 1, 40 * MINUTE, DONE), container("b", 2, 2 * MINUTE, FAILED)],
        "conditions": [{"type": "Initialized", "status": "True"}],
        "containerStatuses": [container("c", 9, 30 * MINUTE)]}, init=["a", "b"]),
    pod("init-not-initialized", {"initContainerStatuses": [container("a", 6, 7 * MINUTE, WAITING)],
                                 "conditions": [{"type": "Initialized", "status": "False"}]}, init=["a"]),
    pod("init-running", {"initContainerStatuses": [container("a", 2, 7 * MINUTE, started=True)],
                         "containerStatuses": [container("c", 1, 3 * MINUTE)]}, init=["a"]),
    pod("init-done", {"initContainerStatuses": [container("a", 6, 1 * MINUTE, DONE)],
                      "containerStatuses": [container("c", 2, 30 * MINUTE)]}, init=["a"]),
    pod("sidecar-restarted", {"initContainerStatuses": [
        container("a", 6, 1 * MINUTE, DONE), container("side", 2, 3 * MINUTE, started=True, ready=True)],
        "containerStatuses": [container("c", 2, 30 * MINUTE)]}, init=["a", "side"]),
    pod("sidecar-only", {"initContainerStatuses": [container("side", 2, 90 * MINUTE, started=True)],
                         "containerStatuses": [container("c", 0)]}, init=["side"]),
    pod("sidecar-starting", {"initContainerStatuses": [
        container("a", 1, 20 * MINUTE, DONE), container("side", 3, 10 * MINUTE, started=False)],
                             "containerStatuses": [container("c", 1, 2 * MINUTE)]}, init=["a", "side"]),
    pod("succeeded", {"phase": "Succeeded", "containerStatuses": [container("c", 1, 4 * MINUTE, DONE)]}),
]


def event(name, **rest):
    return {"metadata": {"name": name}, "involvedObject": {"kind": "Pod", "namespace": "default", "name": "quiet"},
            "type": "Normal", "reason": "Tested", "message": "a <message> with \"quotes\" & more", **rest}


MODERN = {"action": "Test", "reportingComponent": "example.com/test", "reportingInstance": "one"}
EVENTS = [
    event("old", firstTimestamp=ago(2 * HOUR), lastTimestamp=ago(3 * MINUTE), count=4, source={"component": "x"}),
    event("old-first-only", firstTimestamp=ago(50 * MINUTE)),
    event("old-last-only", lastTimestamp=ago(50 * MINUTE)),
    event("old-with-series", firstTimestamp=ago(2 * HOUR), lastTimestamp=ago(HOUR),
          series={"count": 3, "lastObservedTime": ago(40, True)}),
    event("old-with-unseen-series", lastTimestamp=ago(HOUR), series={"count": 3}),
    event("timeless"),
    event("future", firstTimestamp=ago(-HOUR), lastTimestamp=ago(-2 * HOUR)),
    event("new", eventTime=ago(9 * MINUTE - 5, True), **MODERN),
    event("new-with-series", eventTime=ago(30 * HOUR, True),
          series={"count": 3, "lastObservedTime": ago(8 * MINUTE, True)}, **MODERN),
]

JOBS = [
    named("waiting", spec={"template": BATCH, "suspend": True}),
    named("running", spec={"template": BATCH}, status={"startTime": ago(5 * MINUTE)}),
    named("finished", spec={"template": BATCH}, status={
        "startTime": ago(2 * HOUR), "completionTime": ago(HOUR), "succeeded": 1,
        "uncountedTerminatedPods": {}, "conditions": [
            {"type": "SuccessCriteriaMet", "status": "True"}, {"type": "Complete", "status": "True"}]}),
    named("failed", spec={"template": BATCH}, status={
        "startTime": ago(2 * HOUR), "conditions": [
            {"type": "FailureTarget", "status": "True"}, {"type": "Failed", "status": "True"}]}),
]
CRON = {"schedule": "* * * * *", "suspend": True, "jobTemplate": {"spec": {"template": BATCH}}}
CRONJOBS = [named("never", spec=CRON), named("ran", spec=CRON, status={"lastScheduleTime": ago(7 * HOUR + 59 * MINUTE + 50)}),
            named("will", spec=CRON, status={"lastScheduleTime": ago(-HOUR)})]


def taint(name, **rest):
    return named(name, spec={"deviceSelector": {"driver": "d.example.com"},
                             "taint": {"key": "example.com/k", "value": "v", "effect": "NoSchedule", **rest}})


def pools(*conditions):
    return {"poolCount": 0, "conditions": [
        {"type": t, "status": s, "reason": "R", "message": "", "lastTransitionTime": ago(at)} for t, s, at in conditions]}


POOL = {"driver": "d.example.com"}
POOL_REQUESTS = [
    named("pending", spec=POOL),
    named("complete", spec=POOL, status=pools(("Complete", "True", 6 * MINUTE))),
    named("failed", spec=POOL, status=pools(("Failed", "True", 6 * MINUTE))),
    named("failed-then-complete", spec=POOL, status=pools(("Failed", "True", 9 * MINUTE), ("Complete", "True", 6 * MINUTE))),
    named("undecided", spec=POOL, status=pools(("Complete", "False", 6 * MINUTE))),
]

UID = "0f8fad5b-d9cb-469f-a165-70867728950e"
UIDS = [f"0f8fad5b-d9cb-469f-a165-7086772895{i:02d}" for i in range(20)]


def eviction(number, responders, states):
    targets = [{"name": n, "priority": 1000 - i, "state": s} for i, (n, s) in enumerate(states)]
    return {"metadata": {"name": UIDS[number]}, "spec": {"target": {"pod": {"name": "quiet", "uid": UIDS[number]}}},
            "status": {"targetResponders": targets, "responders": responders}}


def responder(name, **times):
    return {"name": name, **{k: ago(v) for k, v in times.items()}}


EVICTIONS = [
    eviction(0, [], []),
    eviction(1, [responder("a.example.com/x", startTime=5 * MINUTE, heartbeatTime=30, expectedCompletionTime=-2 * HOUR)],
             [("a.example.com/x", "Active"), ("b.example.com/y", "Inactive")]),
    eviction(2, [responder("a.example.com/x", startTime=50 * MINUTE, heartbeatTime=3 * MINUTE, expectedCompletionTime=4 * MINUTE)],
             [("a.example.com/x", "Active")]),
    eviction(3, [responder("a.example.com/x", startTime=HOUR, heartbeatTime=5 * MINUTE, completionTime=2 * MINUTE),
                 responder("b.example.com/y", startTime=MINUTE)],
             [("a.example.com/x", "Completed"), ("b.example.com/y", "Active")]),
    eviction(4, [responder("a.example.com/x", startTime=HOUR, heartbeatTime=5 * MINUTE, completionTime=2 * MINUTE,
                           expectedCompletionTime=3 * MINUTE)],
             [("a.example.com/x", "Completed")]),
    eviction(5, [responder("a.example.com/x", startTime=HOUR, heartbeatTime=7 * MINUTE)],
             [("a.example.com/x", "Interrupted")]),
    eviction(6, [responder("a.example.com/x", expectedCompletionTime=3 * MINUTE)], [("a.example.com/x", "Active")]),
    eviction(7, [], [("a.example.com/x", "Active")]),
]
EVICTION_REQUESTS = [{"metadata": {"name": "request"}, "spec": {
    "target": {"pod": {"name": "quiet", "uid": UID}}, "requester": "a.example.com/x", "intent": "Eviction"}}]

OBJECTS = {
    ("", "configmaps"): [],
    ("", "endpoints"): [named("plain")],
    ("", "events"): EVENTS,
    ("", "limitranges"): [named("plain", spec={"limits": []})],
    ("", "namespaces"): [named("plain")],
    ("", "nodes"): [named("plain")],
    ("", "persistentvolumeclaims"): [named("plain", spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}})],
    ("", "persistentvolumes"): [named("plain", spec={"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}})],
    ("", "pods"): PODS,
    ("", "podtemplates"): [named("plain", template=TEMPLATE)],
    ("", "replicationcontrollers"): [named("plain", spec={"selector": {"a": "b"}, "template": TEMPLATE})],
    ("", "resourcequotas"): [named("plain", spec={"hard": {"services.nodeports": "5"}})],
    ("", "secrets"): [named("plain")],
    ("", "serviceaccounts"): [named("plain")],
    ("", "services"): [named("plain", spec={"ports": [{"port": 80}]})],
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"): [named("plain", spec={
        "matchConstraints": {"objectSelector": {"matchLabels": {"never": "matches"}}, "resourceRules": [RULES]},
        "failurePolicy": "Ignore", "reinvocationPolicy": "Never", "mutations": [
            {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}]})],
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"): [named("plain", spec={"policyName": "nobody"})],
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): [named("plain", webhooks=[WEBHOOK])],
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"): [named("plain", spec={
        "matchConstraints": {"objectSelector": {"matchLabels": {"never": "matches"}}, "resourceRules": [RULES]},
        "failurePolicy": "Ignore", "validations": [{"expression": "true"}]})],
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"): [named("plain", spec={"policyName": "nobody", "validationActions": ["Audit"]})],
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): [named("plain", webhooks=[WEBHOOK])],
    ("apiextensions.k8s.io", "customresourcedefinitions"): [],
    ("apiregistration.k8s.io", "apiservices"): [named("v1.nowhere.example.com", spec={
        "group": "nowhere.example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1,
        "service": {"name": "plain", "namespace": "default"}})],
    ("apps", "controllerrevisions"): [],
    ("apps", "daemonsets"): [named("plain", spec={"selector": SELECTOR, "template": TEMPLATE})],
    ("apps", "deployments"): [named("plain", spec={"selector": SELECTOR, "template": TEMPLATE})],
    ("apps", "replicasets"): [named("plain", spec={"selector": SELECTOR, "template": TEMPLATE})],
    ("apps", "statefulsets"): [named("plain", spec={"serviceName": "s", "selector": SELECTOR, "template": TEMPLATE})],
    ("autoscaling", "horizontalpodautoscalers"): [named("plain", spec={"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "x", "apiVersion": "apps/v1"}})],
    ("batch", "cronjobs"): CRONJOBS,
    ("batch", "jobs"): JOBS,
    ("certificates.k8s.io", "certificatesigningrequests"): [],
    ("certificates.k8s.io", "clustertrustbundles"): [],
    ("coordination.k8s.io", "leasecandidates"): [named("plain", spec={"leaseName": "l", "binaryVersion": "1.0.0", "emulationVersion": "1.0.0", "strategy": "OldestEmulationVersion"})],
    ("coordination.k8s.io", "leases"): [named("plain", spec={"holderIdentity": "me", "renewTime": ago(60, True)})],
    ("discovery.k8s.io", "endpointslices"): [named("plain", addressType="IPv4", endpoints=[])],
    ("events.k8s.io", "events"): [],
    ("flowcontrol.apiserver.k8s.io", "flowschemas"): [named("plain", spec={"priorityLevelConfiguration": {"name": "global-default"}})],
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): [named("plain", spec={"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}})],
    ("internal.apiserver.k8s.io", "storageversions"): [named("plain.things", spec={})],
    ("lifecycle.k8s.io", "evictionrequests"): EVICTION_REQUESTS,
    ("lifecycle.k8s.io", "evictions"): [],
    ("networking.k8s.io", "ingressclasses"): [named("plain", spec={"controller": "example.com/c"})],
    ("networking.k8s.io", "ingresses"): [named("plain", spec={"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}})],
    ("networking.k8s.io", "ipaddresses"): [named("10.0.0.77", spec={"parentRef": {"group": "", "resource": "services", "namespace": "default", "name": "plain"}})],
    ("networking.k8s.io", "networkpolicies"): [named("plain", spec={"podSelector": {}})],
    ("networking.k8s.io", "servicecidrs"): [named("plain", spec={"cidrs": ["10.1.0.0/24"]})],
    ("node.k8s.io", "runtimeclasses"): [named("plain", handler="h")],
    ("policy", "poddisruptionbudgets"): [named("plain", spec={"maxUnavailable": 1, "selector": SELECTOR})],
    ("rbac.authorization.k8s.io", "clusterrolebindings"): [named("plain", roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "x"})],
    ("rbac.authorization.k8s.io", "clusterroles"): [named("plain", rules=[])],
    ("rbac.authorization.k8s.io", "rolebindings"): [named("plain", roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "x"})],
    ("rbac.authorization.k8s.io", "roles"): [named("plain", rules=[])],
    ("resource.k8s.io", "deviceclasses"): [named("plain", spec={})],
    ("resource.k8s.io", "devicetaintrules"): [taint("timeless"), taint("timed", timeAdded=ago(5 * HOUR))],
    ("resource.k8s.io", "resourceclaims"): [named("plain", spec={"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "plain"}}]}})],
    ("resource.k8s.io", "resourceclaimtemplates"): [named("plain", spec={"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "plain"}}]}}})],
    ("resource.k8s.io", "resourcepoolstatusrequests"): POOL_REQUESTS,
    ("resource.k8s.io", "resourceslices"): [named("plain", spec={"driver": "d.example.com", "nodeName": "n", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}})],
    ("scheduling.k8s.io", "compositepodgroups"): [named("plain", spec={"workloadRef": {"workloadName": "plain", "templateName": "g"}, "schedulingPolicy": {"basic": {}}})],
    ("scheduling.k8s.io", "podgroups"): [named("plain", spec={"schedulingPolicy": {"basic": {}}})],
    ("scheduling.k8s.io", "priorityclasses"): [named("plain", value=5)],
    ("scheduling.k8s.io", "workloads"): [named("plain", spec={"podGroupTemplates": [{"name": "g", "schedulingPolicy": {"basic": {}}}]})],
    ("storage.k8s.io", "csidrivers"): [named("d.example.com", spec={})],
    ("storage.k8s.io", "csinodes"): [named("plain", spec={"drivers": []})],
    ("storage.k8s.io", "csistoragecapacities"): [named("plain", storageClassName="s")],
    ("storage.k8s.io", "storageclasses"): [named("plain", provisioner="p")],
    ("storage.k8s.io", "volumeattachments"): [named("plain", spec={"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}})],
    ("storage.k8s.io", "volumeattributesclasses"): [named("plain", driverName="d.example.com", parameters={"k": "v"})],
    ("storagemigration.k8s.io", "storageversionmigrations"): [named("plain", spec={"resource": {"group": "", "resource": "pods"}})],
}

DISTANCES = [5, 61, 119, 125, 5 * MINUTE - 4, 10 * MINUTE - 8, 179 * MINUTE, 3 * HOUR - 9, 8 * HOUR - 7, 30 * HOUR, 48 * HOUR - 5,
             3 * DAY + 2 * HOUR, 8 * DAY - 11, 100 * DAY, 730 * DAY - 6, 1000 * DAY, 8 * 365 * DAY - 10, 5000 * DAY, -HOUR]
CONFIGMAPS = [{"metadata": {"name": f"age-{i:02d}", "creationTimestamp": ago(d)}} for i, d in enumerate(DISTANCES)]
CONFIGMAPS.append({"metadata": {"name": "timeless", "creationTimestamp": None}})
STORED = {
    ("", "configmaps"): CONFIGMAPS,
    ("apps", "controllerrevisions"): [named("plain", revision=3, data={"a": 1})],
    ("certificates.k8s.io", "certificatesigningrequests"): [named("plain", spec={
        "request": "", "signerName": "example.com/s", "expirationSeconds": 7200, "username": "me"})],
    ("lifecycle.k8s.io", "evictions"): EVICTIONS,
}

WIDGET_COLUMNS = [
    ("Age", "date", ".metadata.creationTimestamp"),
    ("Note", "string", ".spec.note"),
    ("Renewed", "date", ".status.renewed"),
    ("Ready", "date", '.status.conditions[?(@.type=="Ready")].lastTransitionTime'),
    ("First", "date", ".status.times[0]"),
    ("Second", "date", ".status.times[1]"),
    ("Quoted", "date", ".status['renewed']"),
    ("Annotated", "date", r".metadata.annotations.example\.com/at"),
    ("Zoned", "date", ".status.zoned"),
    ("Wrong", "date", ".status.wrong"),
    ("Text", "string", ".metadata.creationTimestamp"),
    ("Number", "date", ".spec.number"),
    ("Wildcard", "date", ".status.times[*]"),
    ("Uneven", "date", ".status.runs[*].times[1]"),
]


def definition(plural, kind, columns):
    version = {"name": "v1", "served": True, "storage": True,
               "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
               "additionalPrinterColumns": [{"name": n, "type": t, "jsonPath": p} for n, t, p in columns]}
    return {"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1",
            "metadata": {"name": plural + "." + CUSTOM_GROUP, "labels": {"ages": "recorded"}},
            "spec": {"group": CUSTOM_GROUP, "scope": "Namespaced", "versions": [version],
                     "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": kind + "List"}}}


DEFINITIONS = [definition("widgets", "Widget", WIDGET_COLUMNS), definition("gadgets", "Gadget", [])]
DATE_PATHS = {"widgets": [""] + [p if t == "date" else "" for _, t, p in WIDGET_COLUMNS],
              "gadgets": ["", ".metadata.creationTimestamp"]}
WIDGETS = [
    {"metadata": {"name": "empty"}},
    {"metadata": {"name": "full", "annotations": {"example.com/at": ago(3 * DAY)}},
     "spec": {"note": "<b>", "number": 7},
     "status": {"renewed": ago(4 * MINUTE), "times": [ago(20), ago(HOUR)],
                "runs": [{"times": [ago(20), ago(HOUR)]}, {"times": [ago(20)]}], "wrong": "yesterday",
                "zoned": time.strftime("%Y-%m-%dT%H:%M:%S+02:00", time.gmtime(NOW - 600 + 7200)),
                "conditions": [{"type": "Known"}, {"type": "Ready", "status": "True"},
                               {"type": "Ready", "lastTransitionTime": ago(9 * DAY - 3)}]}},
    {"metadata": {"name": "odd"}, "spec": {"note": ""},
     "status": {"renewed": None, "times": [], "wrong": "", "zoned": ago(-HOUR), "conditions": []}},
    {"metadata": {"name": "zero"}, "status": {"renewed": "0001-01-01T00:00:00Z"}},
]
OBJECTS[(CUSTOM_GROUP, "widgets")] = WIDGETS
OBJECTS[(CUSTOM_GROUP, "gadgets")] = [{"metadata": {"name": "plain"}}]

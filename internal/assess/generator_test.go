package assess

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"
)

// logStart is the time at which generated logs begin.
var logStart = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// request is a line of a generated log.
type request struct {
	stage, verb, uri, user, agent string
	object                        string // objectRef without braces; empty if there is none
	extra                         string // further members, each with a comma in front
	code                          int
	at, lasts                     time.Duration // since logStart, of the arrival
}

func (r *request) line() string {
	ref := ""
	if r.object != "" {
		ref = `"objectRef":{` + r.object + `,"apiVersion":"v1"},`
	}
	stage := r.stage
	if stage == "" {
		stage = "ResponseComplete"
	}
	code := r.code
	if code == 0 {
		code = 200
	}
	stamp := func(d time.Duration) string { return logStart.Add(d).Format("2006-01-02T15:04:05.000000Z") }
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"7c1b8e52-5a9e-4c0e-9c1e-3f0c1e3a7d11","stage":"%s","requestURI":"%s",`+
		`"verb":"%s","user":{"username":"%s","groups":["system:authenticated"]%s},"sourceIPs":["10.0.3.7"],"userAgent":"%s",%s"responseStatus":{"metadata":{},"code":%d},`+
		`"requestReceivedTimestamp":"%s","stageTimestamp":"%s","annotations":{"authorization.k8s.io/decision":"allow","authorization.k8s.io/reason":"RBAC: allowed by ClusterRoleBinding \"readers\" of ClusterRole \"reader\" to Group \"readers\""}}`,
		stage, strings.ReplaceAll(r.uri, "&", `\u0026`), r.verb, r.user, r.extra, r.agent, ref, code, stamp(r.at), stamp(r.at+r.lasts)) + "\n"
}

// generate writes a log of at least the given size: nodes that update their status and leases, controllers, pollers,
// people with kubectl, and watches.
func generate(to io.Writer, random *rand.Rand, size int64) error {
	w := bufio.NewWriterSize(to, 1<<20)
	written, at := int64(0), time.Duration(0)
	for written < size {
		at += time.Duration(random.IntN(4)) * time.Millisecond
		r := draw(random)
		r.at = at
		n, err := w.WriteString(r.line())
		if err != nil {
			return err
		}
		written += int64(n)
	}
	return w.Flush()
}

// draw returns a request of a large cluster.
func draw(random *rand.Rand) request {
	node := random.IntN(2000)
	switch n := random.IntN(100); {
	case n < 40:
		return request{verb: "update", uri: fmt.Sprintf("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-%d?timeout=10s", node), user: fmt.Sprintf("system:node:node-%d", node),
			agent: "kubelet/v1.37.1 (linux/amd64) kubernetes/0b1a2c3", object: fmt.Sprintf(`"resource":"leases","namespace":"kube-node-lease","name":"node-%d","apiGroup":"coordination.k8s.io"`, node), lasts: 5 * time.Millisecond}
	case n < 60:
		return request{verb: "patch", uri: fmt.Sprintf("/api/v1/namespaces/team-%d/pods/web-%d/status", node%50, node), user: fmt.Sprintf("system:node:node-%d", node),
			agent: "kubelet/v1.37.1 (linux/amd64) kubernetes/0b1a2c3", object: fmt.Sprintf(`"resource":"pods","namespace":"team-%d","name":"web-%d","subresource":"status"`, node%50, node), lasts: 9 * time.Millisecond}
	case n < 75:
		return request{verb: "list", uri: "/api/v1/pods?limit=500&resourceVersion=0", user: fmt.Sprintf("system:serviceaccount:team-%d:poller", node%50),
			agent: fmt.Sprintf("poller/v%d.%d (linux/amd64)", node%7, node%13), object: `"resource":"pods"`, lasts: 80 * time.Millisecond}
	case n < 85:
		return request{verb: "watch", uri: "/api/v1/pods?allowWatchBookmarks=true&resourceVersion=88112034&timeoutSeconds=440&watch=true", user: fmt.Sprintf("system:serviceaccount:team-%d:informer", node%50),
			agent: "informer/v0.0.0 (linux/amd64) kubernetes/$Format", object: `"resource":"pods"`, lasts: 440 * time.Second}
	case n < 95:
		return request{verb: "get", uri: fmt.Sprintf("/api/v1/namespaces/team-%d/secrets/token-%d", node%50, node), user: "system:serviceaccount:vault:injector", agent: "injector/v1 (linux/amd64)",
			object: fmt.Sprintf(`"resource":"secrets","namespace":"team-%d","name":"token-%d"`, node%50, node), lasts: 2 * time.Millisecond}
	}
	return request{verb: "get", uri: "/readyz", user: "system:anonymous", agent: "kube-probe/1.37", lasts: time.Millisecond}
}

// logOf returns the lines of a log.
func logOf(requests ...request) string {
	var all strings.Builder
	for _, r := range requests {
		all.WriteString(r.line())
	}
	return all.String()
}

package audit

import (
	"net"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"

	"github.com/listfacade/listfacade/internal/observe"
)

// record is one event of the log: a request at a stage.
type record struct {
	*observe.Event
	stage       auditinternal.Stage
	at          time.Time
	status      *metav1.Status // Status of the response; nil if the response has no Status, or has not begun
	code        int32          // status code of a response without a Status; else 0
	annotations [2 + latencies]annotation
	annotated   int
}

type annotation struct{ key, value string }

const (
	// maxUserAgent is the maximum number of bytes of a user agent, as in kube-apiserver.
	maxUserAgent = 1024
	// maxText is the maximum number of bytes of a requestURI, a verb and each part of an objectRef, and maxSources the
	// maximum number of sourceIPs. Any client can send long texts, and JSON may need six bytes for each byte.
	maxText    = 4 << 10
	maxSources = 32
)

func newRecord(e *observe.Event, stage auditinternal.Stage) record {
	r := record{Event: e, stage: stage, at: time.Now()}
	switch stage {
	case auditinternal.StageRequestReceived:
		r.at = e.Began
		return r
	case auditinternal.StagePanic:
		r.status = panicked(e.Panicked)
	default:
		r.status, r.code = answered(e)
	}
	if stage == auditinternal.StageResponseComplete {
		r.addLatencies()
	}
	r.decide()
	return r
}

// cut truncates a text from a client after the given number of bytes, and marks it as truncated.
func cut(text string, most int) string {
	if len(text) > most {
		return text[:most] + "...TRUNCATED"
	}
	return text
}

// annotate adds an annotation. Callers add annotations in the order of their keys, which is the order in the line.
func (r *record) annotate(key, value string) {
	r.annotations[r.annotated] = annotation{key, value}
	r.annotated++
}

// sources returns the addresses in the request's forwarding headers, and then the address of the connection. If there
// are too many, it keeps the first ones and the last.
func (r *record) sources() []net.IP {
	ips := utilnet.SourceIPs(&http.Request{Header: r.Header, RemoteAddr: r.Client})
	if len(ips) > maxSources {
		ips = append(ips[:maxSources-1], ips[len(ips)-1])
	}
	return ips
}

func (r *record) isPlain() bool {
	return len(r.Header["X-Forwarded-For"]) == 0 && len(r.Header["X-Real-Ip"]) == 0
}

func (r *record) event() *auditinternal.Event {
	e := &auditinternal.Event{
		Level: auditinternal.Level(r.Audited.Level), AuditID: types.UID(r.AuditID), Stage: r.stage,
		RequestURI: cut(r.URI, maxText),
		Verb:       cut(r.Verb, maxText), UserAgent: cut(r.UserAgent, maxUserAgent), ResponseStatus: r.responseStatus(),
		RequestReceivedTimestamp: metav1.NewMicroTime(r.Began),
		StageTimestamp:           metav1.NewMicroTime(r.at),
	}
	for _, ip := range r.sources() {
		e.SourceIPs = append(e.SourceIPs, ip.String())
	}
	if r.Caller != nil {
		e.User = authenticationv1.UserInfo{Username: r.Caller.GetName(), UID: r.Caller.GetUID(), Groups: r.Caller.GetGroups(),
			Extra: map[string]authenticationv1.ExtraValue{}}
		for key, values := range r.Caller.GetExtra() {
			e.User.Extra[key] = values
		}
	}
	if r.Scope != "" {
		e.ObjectRef = &auditinternal.ObjectReference{
			Resource: cut(r.Resource, maxText), Namespace: cut(r.Namespace, maxText), Name: cut(r.Name, maxText),
			APIGroup: cut(r.Group, maxText), APIVersion: cut(r.Version, maxText), Subresource: cut(r.Subresource, maxText),
		}
	}
	for _, a := range r.annotations[:r.annotated] {
		if e.Annotations == nil {
			e.Annotations = map[string]string{}
		}
		e.Annotations[a.key] = a.value
	}
	return e
}

package audit

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/observe"
)

// answered returns the Status of a response that has one. For other responses it returns nil and the status code.
func answered(e *observe.Event) (status *metav1.Status, code int32) {
	sent := e.Status
	switch {
	case sent != nil:
		return &metav1.Status{Status: sent.Status, Message: sent.Message, Reason: sent.Reason, Details: sent.Details,
			Code: sent.Code}, 0
	case e.Code == 0: // the client disconnected before the response
		return &metav1.Status{Status: metav1.StatusSuccess, Message: "Connection closed early", Code: http.StatusOK}, 0
	default:
		return nil, int32(e.Code) //nolint:gosec // a status code has three digits
	}
}

func (r *record) responseStatus() *metav1.Status {
	if r.code != 0 {
		return &metav1.Status{Code: r.code}
	}
	return r.status
}

// panicked returns the Status that the log contains for a request that panicked, with kube-apiserver's message.
func panicked(reason string) *metav1.Status {
	return &metav1.Status{
		Status: metav1.StatusFailure, Reason: metav1.StatusReasonInternalError, Code: http.StatusInternalServerError,
		Message: "APIServer panic'd: " + reason,
	}
}

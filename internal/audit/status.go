package audit

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/observe"
)

// answered is what a request was answered with: an error's Status, or else its code.
func answered(e *observe.Event) (status *metav1.Status, code int32) {
	said := e.Status
	switch {
	case said != nil:
		return &metav1.Status{Status: said.Status, Message: said.Message, Reason: said.Reason, Details: said.Details, Code: said.Code}, 0
	case e.Code == 0: // the client was gone before anything was sent
		return &metav1.Status{Status: metav1.StatusSuccess, Message: "Connection closed early", Code: http.StatusOK}, 0
	default:
		return nil, int32(e.Code) //nolint:gosec // it has three digits
	}
}

// responseStatus is what was answered.
func (r *record) responseStatus() *metav1.Status {
	if r.code != 0 {
		return &metav1.Status{Code: r.code}
	}
	return r.status
}

// panicked is what is written of a request that panicked.
func panicked(reason string) *metav1.Status {
	return &metav1.Status{
		Status: metav1.StatusFailure, Reason: metav1.StatusReasonInternalError, Code: http.StatusInternalServerError,
		Message: "APIServer panic'd: " + reason,
	}
}

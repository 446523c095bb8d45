package replay

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/handlers"
)

var (
	errNoLanes     = errors.New("the journal has nothing to replay at this moment")
	errNoDiscovery = errors.New("the journal has no usable discovery documents")
	errMismatch    = errors.New("record and object have different keys or resourceVersions")
)

const textTooOld = "the replay does not have this resourceVersion: choose an earlier moment with --at"

func refuse(w http.ResponseWriter, r *http.Request, status metav1.Status) {
	status.Kind, status.APIVersion = "Status", "v1"
	handlers.WriteStatus(w, r, &status)
}

// absent returns the Status for a request for something that the journal does not have.
func absent(what string) metav1.Status {
	status := apierrors.NewNotFound(schema.GroupResource{}, "").ErrStatus
	status.Message, status.Details = "the journal does not have "+what, nil
	return status
}

// otherEncoding returns the Status for a client that does not accept the only encoding in which a resource was
// recorded.
func otherEncoding(resource, encoding string) metav1.Status {
	status := apierrors.NewGenericServerResponse(http.StatusNotAcceptable, "get", schema.GroupResource{}, "", "", 0,
		false).ErrStatus
	status.Message, status.Details = fmt.Sprintf("the journal has %s in %s only", resource, encoding), nil
	return status
}

// invalidSelector returns the Status for a request with an invalid shardSelector, as kube-apiserver does (semantics
// 5.6).
func invalidSelector(err error) metav1.Status {
	status := apierrors.NewInternalError(err).ErrStatus
	status.Message, status.Reason, status.Details = err.Error(), "", nil
	return status
}

// outside returns the Status for a read of a resourceVersion that the replay does not have or has not reached.
func (l *lane) outside(version string) metav1.Status {
	rv, err := cache.ParseRV(version)
	if now, failed := l.Now(context.Background()); err == nil && failed == nil && rv > now {
		late := &cache.TooLargeError{Requested: rv, Current: now}
		return apierrors.NewTimeoutError(late.Error()+": the replay has not reached it", 1).ErrStatus
	}
	return apierrors.NewResourceExpired(textTooOld).ErrStatus
}

package split

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/handlers"
)

// Messages of refusals.
const (
	textCertificate = "listfacade split cannot pass on a client certificate: use a bearer token, or send the request to " +
		"kube-apiserver"
	textLarge = "no listfacade is ready, and the answer may be too large for kube-apiserver if all clients ask at once"
	textBusy  = "no listfacade is ready, and a limit of requests to kube-apiserver is reached"
	textLoop  = "this request has already passed through this listfacade split: --kube-apiserver or --facade leads back to it"
	textLost  = "the connection to kube-apiserver failed; the request may have been executed"
	// textUntrusted is a format. Its argument is the kind of the server, which is also the beginning of a flag.
	textUntrusted = "listfacade split cannot verify the certificate of %[1]s: the operator of listfacade split must correct " +
		"--%[1]s-ca-file or the certificate; its log has the cause"
	// warnRefused is the Warning header of a 401, because the Status of a 401 names no cause. client-go prints it.
	warnRefused = `299 - "the bearer token was refused: use a token that has not expired, for an audience of kube-apiserver ` +
		`(kubectl create token, without --audience)"`
)

// Range of the Retry-After while no facade is ready, in seconds. It is random, so that clients do not all return at
// once.
const minPause, maxPause = 5, 10

func refuse(w http.ResponseWriter, r *http.Request, status metav1.Status) {
	status.Kind, status.APIVersion = "Status", "v1"
	handlers.WriteStatus(w, r, &status)
}

// refuse writes a Status. For a watch, it writes a 429 in place of the 503 that the function unavailable returns. An
// informer sends a list after eleven 503s, but after a 429 it opens its watch again, as with a facade
// (docs/divergences.md).
func (x *exchange) refuse(w http.ResponseWriter, status metav1.Status) {
	if x.watch && status.Code == http.StatusServiceUnavailable && status.Details != nil {
		status = apierrors.NewTooManyRequests(status.Message, waitSeconds).ErrStatus
	}
	refuse(w, x.request, status)
}

// waitSeconds is the Retry-After, in seconds, of a temporary failure.
const waitSeconds = 1

func tooMany(why string) metav1.Status {
	return apierrors.NewTooManyRequests(why, minPause+rand.IntN(maxPause-minPause+1)).ErrStatus
}

func unauthorized() metav1.Status { return apierrors.NewUnauthorized(textCertificate).ErrStatus }

func malformed(r *http.Request) metav1.Status {
	if r.Method == http.MethodConnect {
		return apierrors.NewMethodNotSupported(schema.GroupResource{}, r.Method).ErrStatus
	}
	return apierrors.NewBadRequest("the path must begin with /").ErrStatus
}

func loop() metav1.Status {
	status := apierrors.NewInternalError(errors.New(textLoop)).ErrStatus
	status.Code = http.StatusLoopDetected
	return status
}

// unreachable returns the answer to a request that kube-apiserver did not answer. Clients repeat a request if the
// answer has a Retry-After. The answer to a write that may have been executed has no Retry-After, because only the
// client may decide to repeat it.
//
// If the request and the last check both failed to verify the certificate, the operator must correct it (untrusted).
// Otherwise, only one of several replicas has this certificate, and the next request may reach another replica.
func (s *Split) unreachable(r *http.Request, err error) metav1.Status {
	if isUntrusted(err) && s.apiServer.untrusted.Load() {
		return untrusted(KubeAPIServer)
	}
	if !unsent(err) && r.Method != http.MethodGet && r.Method != http.MethodHead {
		return apierrors.NewServiceUnavailable(textLost).ErrStatus
	}
	return unavailable("kube-apiserver cannot be reached")
}

// untrusted returns a 503 without Retry-After, also for a watch. client-go repeats a request ten times before it shows
// the message of an answer with Retry-After, and informers do not log a 429 to a watch.
func untrusted(kind Target) metav1.Status {
	return apierrors.NewServiceUnavailable(fmt.Sprintf(textUntrusted, kind)).ErrStatus
}

// unavailable returns a 503 after which clients repeat the request.
func unavailable(why string) metav1.Status {
	status := apierrors.NewServiceUnavailable(why).ErrStatus
	status.Details = &metav1.StatusDetails{RetryAfterSeconds: waitSeconds}
	return status
}

package upstream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// tooLarge is how every kube-apiserver words a resourceVersion that it has not reached (semantics 2.2).
const tooLarge = "Too large resource version"

// nameCause makes the 504 of an old kube-apiserver one that clients recognise. Before 1.18 its Status has no cause
// (1.16) or one without a reason (1.17); client-go looks for the reason since 0.18, and some of its versions for
// nothing else. An answer that names the cause, and whatever is no such Status in JSON, stays as it is to the byte.
func nameCause(response *http.Response) error {
	media, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	plain := err == nil && media == MediaJSON && response.Header.Get("Content-Encoding") == ""
	if response.StatusCode != http.StatusGatewayTimeout || !plain || response.Request.Method == http.MethodHead {
		return nil
	}
	upstreams := response.Body
	body, err := io.ReadAll(io.LimitReader(upstreams, maxErrorBody))
	if err != nil {
		return fmt.Errorf("read the upstream's 504: %w", err)
	}
	named := withCause(body)
	if named == nil { // what was not read follows what was
		response.Body = &ownedBody{ReadCloser: io.NopCloser(io.MultiReader(bytes.NewReader(body), upstreams)), release: func() { upstreams.Close() }}
		return nil
	}
	upstreams.Close()
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(named)), int64(len(named))
	response.Header.Set("Content-Length", strconv.Itoa(len(named)))
	return nil
}

// withCause is a Status about a version that is too large as kube-apiserver writes it since 1.18; nil when there is
// nothing to add.
func withCause(body []byte) []byte {
	var status metav1.Status
	if err := json.Unmarshal(body, &status); err != nil || status.Kind != "Status" || !strings.Contains(status.Message, tooLarge) {
		return nil
	}
	if status.Details == nil {
		status.Details = &metav1.StatusDetails{}
	}
	named := metav1.StatusCause{Type: metav1.CauseTypeResourceVersionTooLarge, Message: tooLarge}
	for i, cause := range status.Details.Causes {
		switch {
		case cause.Type == named.Type:
			return nil
		case cause.Type == "" && cause.Message == tooLarge:
			status.Details.Causes[i] = named
			return encoded(&status)
		}
	}
	status.Details.Causes = append(status.Details.Causes, named)
	return encoded(&status)
}

// encoded is a Status that was decoded from JSON, with the newline that kube-apiserver ends it with.
func encoded(status *metav1.Status) []byte {
	body, err := json.Marshal(status)
	if err != nil {
		panic("BUG: a Status that JSON cannot hold: " + err.Error())
	}
	return append(body, '\n')
}

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

// tooLarge is kube-apiserver's message about a resourceVersion that it has not reached (semantics 2.2).
const tooLarge = "Too large resource version"

// nameCause adds the cause to the 504 of an old kube-apiserver, so that clients recognize the cause. Before 1.18, the
// Status has no cause (1.16) or a cause without a reason (1.17). client-go checks the reason since 0.18, and some
// versions of client-go check nothing else. All other responses stay unchanged to the byte, for example a Status that
// has the cause or is not JSON.
func nameCause(response *http.Response) error {
	media, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	plain := err == nil && media == MediaJSON && response.Header.Get("Content-Encoding") == ""
	if response.StatusCode != http.StatusGatewayTimeout || !plain || response.Request.Method == http.MethodHead {
		return nil
	}
	rest := response.Body
	body, err := io.ReadAll(io.LimitReader(rest, maxErrorBody))
	if err != nil {
		return fmt.Errorf("read the upstream's 504: %w", err)
	}
	named := withCause(body)
	if named == nil { // another 504, whose body continues in rest
		response.Body = &ownedBody{ReadCloser: io.NopCloser(io.MultiReader(bytes.NewReader(body), rest)),
			release: func() { rest.Close() }}
		return nil
	}
	rest.Close()
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(named)), int64(len(named))
	response.Header.Set("Content-Length", strconv.Itoa(len(named)))
	return nil
}

// withCause adds the cause that kube-apiserver writes since 1.18 to a Status about a too large resourceVersion. It
// returns nil for any other body.
func withCause(body []byte) []byte {
	var status metav1.Status
	if err := json.Unmarshal(body, &status); err != nil || status.Kind != "Status" ||
		!strings.Contains(status.Message, tooLarge) {
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

// encoded returns a Status in JSON, with kube-apiserver's newline at the end.
func encoded(status *metav1.Status) []byte {
	body, err := json.Marshal(status)
	if err != nil {
		panic("BUG: encode Status: " + err.Error())
	}
	return append(body, '\n')
}

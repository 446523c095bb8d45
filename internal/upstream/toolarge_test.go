package upstream

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
)

const tooLargeNamed = `"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}]`

// The cause that an old upstream omits from its 504 is added. Every other response stays unchanged.
func TestPassThroughNamesCause(t *testing.T) {
	body := func(details string) string { return testkit.TooLargeText(99, 5, details) }
	modern := body(testkit.TooLargeNow)
	other := testkit.StatusText(http.StatusGatewayTimeout, "Timeout")
	long := body(`,"details":{"name":"` + strings.Repeat("x", maxErrorBody) + `"}`)
	for name, c := range map[string]struct {
		code            int    // 504 when 0
		media, encoding string // JSON when empty; identity when empty
		sent, want      string // sent unchanged when want is empty
	}{
		"1.16":                      {sent: body(testkit.TooLarge116), want: modern},
		"1.17":                      {sent: body(testkit.TooLarge117), want: modern},
		"no details":                {sent: body(""), want: body(`,"details":{` + tooLargeNamed + `}`)},
		"with a charset":            {media: "application/json; charset=utf-8", sent: body(""), want: body(`,"details":{` + tooLargeNamed + `}`)},
		"another cause":             {sent: body(`,"details":{"causes":[{"message":"x"}]}`), want: body(`,"details":{"causes":[{"message":"x"},` + tooLargeNamed[len(`"causes":[`):] + `}`)},
		"current":                   {sent: modern},
		"current, in another order": {sent: `{ "apiVersion":"v1", "kind":"Status", "message":"Too large resource version: 1", "details":{` + tooLargeNamed + `, "new":1}}`},
		"another timeout":           {sent: other},
		"not JSON":                  {sent: "Too large resource version"},
		"a truncated Status":        {sent: body("")[:50]},
		"protobuf":                  {media: "application/vnd.kubernetes.protobuf", sent: body("")},
		"compressed":                {encoding: "gzip", sent: body("")},
		"another code":              {code: http.StatusConflict, sent: body("")},
		"longer than the limit":     {sent: long},
		"an empty body":             {},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				r.Script("/x", func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", cmp.Or(c.media, MediaJSON))
					w.Header().Set("Retry-After", "1")
					if c.encoding != "" {
						w.Header().Set("Content-Encoding", c.encoding)
					}
					w.WriteHeader(cmp.Or(c.code, http.StatusGatewayTimeout))
					_, _ = io.WriteString(w, c.sent)
				})
				response, got, err := pass(t, r, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
				if want := cmp.Or(c.want, c.sent); got != want || err != nil {
					t.Errorf("got %v\n got %s\nwant %s", err, got, want)
				}
				if response.Header.Get("Retry-After") != "1" {
					t.Errorf("the headers are %v", response.Header)
				}
				if length := response.Header.Get("Content-Length"); length != "" && length != fmt.Sprint(len(got)) {
					t.Errorf("Content-Length %s of %d bytes", length, len(got))
				}
			})
		})
	}
}

// A truncated 504 is not a response.
func TestPassThroughBrokenTooLarge(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Script("/x", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", MediaJSON)
			w.WriteHeader(http.StatusGatewayTimeout)
			_, _ = io.WriteString(w, `{"kind":"Status",`)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		})
		if response, body, _ := pass(t, r, "GET /x HTTP/1.1\r\nHost: a\r\n\r\n"); response.StatusCode != http.StatusBadGateway {
			t.Errorf("got %d %q", response.StatusCode, body)
		}
	})
}

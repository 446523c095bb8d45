package upstream

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

type answering string

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{Body: io.NopCloser(strings.NewReader(string(a)))}, nil
}

func TestBoundedAnswers(t *testing.T) {
	for body, fits := range map[string]bool{"": true, "12345678": true, "123456789": false} {
		response, err := boundTransport{next: answering(body), limit: 8}.RoundTrip(&http.Request{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(response.Body)
		if (err == nil) != fits || (fits && string(got) != body) {
			t.Errorf("%d bytes: read %q, %v", len(body), got, err)
		}
	}
}

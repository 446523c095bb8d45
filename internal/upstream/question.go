package upstream

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// questions are the groups and resources of reviews. The POST of a review changes nothing, and returns a user's
// identity or permissions. kubectl's auth commands send reviews of their own user. Servers that delegate authorization,
// such as a facade behind this one, send reviews of their callers.
var questions = [][2]string{
	{"authentication.k8s.io", "selfsubjectreviews"},
	{"authentication.k8s.io", "tokenreviews"},
	{"authorization.k8s.io", "selfsubjectaccessreviews"},
	{"authorization.k8s.io", "selfsubjectrulesreviews"},
	{"authorization.k8s.io", "subjectaccessreviews"},
}

// QuestionLimit bounds the body of a review, in bytes. A review has a few hundred bytes.
const QuestionLimit = 64 << 10

// IsQuestion reports whether a POST to a path is a review and changes nothing.
func IsQuestion(path string) bool {
	parts := strings.Split(path, "/") // "", apis, group, version, resource
	return len(parts) == 5 && parts[0] == "" && parts[1] == "apis" && parts[3] != "" &&
		slices.Contains(questions, [2]string{parts[2], parts[4]})
}

func bodyOf(r *http.Request) ([]byte, error) {
	switch {
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		return nil, nil
	case r.Method != http.MethodPost || !IsQuestion(r.URL.Path):
		return nil, errNotRead
	case r.Body == nil:
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, QuestionLimit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the request's body: %w", err)
	case len(body) > QuestionLimit:
		return nil, &OversizeError{Path: r.URL.Path, Limit: QuestionLimit}
	}
	return body, nil
}

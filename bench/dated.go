package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// currentVersion is a placeholder in a question's path for the current resourceVersion of a server's pods.
const currentVersion = "CURRENT"

var versionPattern = regexp.MustCompile(`"resourceVersion":"([0-9]+)"`)

// dated replaces currentVersion in a question by the server's version. A version of the facade is also valid at
// kube-apiserver, because the facade is never ahead of it.
func (s *server) dated(ctx context.Context, q question) (question, error) {
	if !strings.Contains(q.path, currentVersion) {
		return q, nil
	}
	var body strings.Builder
	list := question{path: "/api/v1/namespaces/default/pods?resourceVersion=0", encoding: "identity", protocol: q.protocol}
	if _, err := s.get(ctx, list, &body); err != nil {
		return q, err
	}
	version := versionPattern.FindStringSubmatch(body.String())
	if version == nil {
		return q, &answerError{server: s.name, question: list.String(),
			what: fmt.Sprintf("no resourceVersion in %q", body.String())}
	}
	q.path = strings.ReplaceAll(q.path, currentVersion, version[1])
	return q, nil
}

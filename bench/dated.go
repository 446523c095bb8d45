package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// currentVersion stands in a question's path for the resourceVersion that a server's pods are at.
const currentVersion = "CURRENT"

var versionPattern = regexp.MustCompile(`"resourceVersion":"([0-9]+)"`)

// dated is a question with the version that it is about. Of the facade it is one that kube-apiserver has reached, too.
func (s *server) dated(ctx context.Context, q question) (question, error) {
	if !strings.Contains(q.path, currentVersion) {
		return q, nil
	}
	var body strings.Builder
	nobody := question{path: "/api/v1/namespaces/default/pods?resourceVersion=0", encoding: "identity", protocol: q.protocol}
	if _, err := s.get(ctx, nobody, &body); err != nil {
		return q, err
	}
	version := versionPattern.FindStringSubmatch(body.String())
	if version == nil {
		return q, &answerError{server: s.name, question: nobody.String(), what: fmt.Sprintf("no resourceVersion in %q", body.String())}
	}
	q.path = strings.ReplaceAll(q.path, currentVersion, version[1])
	return q, nil
}

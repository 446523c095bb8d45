package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// currentVersion stands in a question's path for the resourceVersion that the facade's pods are at.
const currentVersion = "CURRENT"

var versionPattern = regexp.MustCompile(`"resourceVersion":"([0-9]+)"`)

// dated is a question with the version that it is about: what both servers have reached, since nothing is written.
func (s *stage) dated(ctx context.Context, q question) (question, error) {
	if !strings.Contains(q.path, currentVersion) {
		return q, nil
	}
	var body strings.Builder
	nobody := question{path: "/api/v1/namespaces/default/pods?resourceVersion=0", encoding: "identity", protocol: q.protocol}
	if _, err := s.facade.get(ctx, nobody, &body); err != nil {
		return q, err
	}
	version := versionPattern.FindStringSubmatch(body.String())
	if version == nil {
		return q, &answerError{server: s.facade.name, question: nobody.String(), what: fmt.Sprintf("no resourceVersion in %q", body.String())}
	}
	q.path = strings.ReplaceAll(q.path, currentVersion, version[1])
	return q, nil
}

package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/listfacade/listfacade/bench/internal/report"
)

// account is one item of the facade's memory accounting, with its size in bytes.
type account struct {
	name  string
	bytes float64
}

// accounts returns the facade's own memory accounting, largest item first.
func (s *server) accounts(ctx context.Context) ([]account, error) {
	a, err := s.read(ctx, question{name: "metrics", path: "/metrics", accept: "text/plain", encoding: "identity",
		protocol: http2})
	if err != nil {
		return nil, err
	}
	var all []account
	for line := range bytes.Lines(a.body) {
		var one account
		label, value, _ := strings.Cut(string(line), "} ")
		if n, _ := fmt.Sscanf(label, "listfacade_memory_accounted_bytes{account=%q", &one.name); n != 1 {
			continue
		}
		if _, err := fmt.Sscan(value, &one.bytes); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", s.name, line, err)
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: /metrics has no listfacade_memory_accounted_bytes", s.name)
	}
	slices.SortFunc(all, func(a, b account) int { return cmp.Compare(b.bytes, a.bytes) })
	return all, nil
}

func largest(all []account) string {
	var words []string
	for _, one := range all {
		if one.bytes >= 1e6 {
			words = append(words, one.name+" "+report.Size(int64(one.bytes)))
		}
	}
	return strings.Join(words, ", ")
}

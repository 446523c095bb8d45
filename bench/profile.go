package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// profileSeconds is how long the facade is profiled while it answers one question.
const profileSeconds = 5

// profile writes a profile of the facade's processor time for each question into a directory. It comes after all
// measurements, which it would disturb.
func profile(ctx context.Context, facade *server, asked []question, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the directory of profiles: %w", err)
	}
	for _, q := range asked {
		say("profiling: %s", q)
		if err := facade.profile(ctx, q, filepath.Join(dir, fileName(q))); err != nil {
			return err
		}
	}
	return nil
}

// profile asks the same again and again while the server takes a profile of itself.
func (s *server) profile(ctx context.Context, q question, path string) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("make a file for a profile: %w", err)
	}
	defer file.Close()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		path := fmt.Sprintf("/debug/pprof/profile?seconds=%d", profileSeconds)
		_, _, err := s.get(ctx, question{name: "profile", path: path, accept: "*/*", encoding: "identity", protocol: http1}, file)
		return err
	})
	group.Go(func() error {
		for start := time.Now(); time.Since(start) < profileSeconds*time.Second; {
			if _, _, err := s.get(ctx, q, io.Discard); err != nil {
				return err
			}
		}
		return nil
	})
	return group.Wait()
}

// fileName makes a file's name of a question.
func fileName(q question) string {
	words := strings.FieldsFunc(strings.ToLower(q.String()), func(r rune) bool { return r == ' ' || r == ',' || r == '/' })
	return strings.Join(words, "-") + ".pprof"
}

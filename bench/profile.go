package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
)

// profileSeconds is the duration of the facade's profiles in one scenario, in seconds.
const profileSeconds = 5

// profile writes profiles of the facade's processor time and allocations for each load into a directory. It runs after
// all measurements, because it would disturb them.
func profile(ctx context.Context, facade *server, chosen []scenario, dir string) error {
	for _, c := range chosen {
		if c.load == nil {
			continue
		}
		say("profiling: %s", c.name)
		if err := facade.profile(ctx, *c.load, filepath.Join(dir, c.name)); err != nil {
			return err
		}
	}
	return nil
}

// profile lets clients repeat their requests while the server takes profiles of itself.
func (s *server) profile(ctx context.Context, l load, path string) error {
	return s.profileBy(ctx, s, l, path)
}

// profileBy is like profile, but it requests the profiles with the credentials of the argument by.
func (s *server) profileBy(ctx context.Context, by *server, l load, path string) error {
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err != nil {
		return fmt.Errorf("create the directory of profiles: %w", err)
	}
	if l.question, err = s.dated(ctx, l.question); err != nil {
		return err
	}
	callers, err := s.callers(ctx, max(1, l.clients), l.question.protocol)
	if err != nil {
		return err
	}
	defer dismiss(callers)
	group, ctx := errgroup.WithContext(ctx)
	for kind, what := range map[string]string{"cpu": "profile", "allocs": "allocs"} {
		group.Go(func() error { return by.takeProfile(ctx, what, path+"."+kind+".pprof") })
	}
	for _, c := range callers {
		group.Go(func() error {
			for start := time.Now(); time.Since(start) < profileSeconds*time.Second; {
				if _, err := l.visit()(ctx, c); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// profileAfter waits, and then writes a profile of processor time and an execution trace into files. path is the
// beginning of their names.
func (s *server) profileAfter(ctx context.Context, after time.Duration, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("create the directory of profiles: %w", err)
	}
	select {
	case <-time.After(after):
	case <-ctx.Done():
		return ctx.Err()
	}
	return errors.Join(s.takeProfile(ctx, "profile", path+".cpu.pprof"), s.takeProfile(ctx, "trace", path+".trace"))
}

// takeProfile writes a profile over profileSeconds into a file.
func (s *server) takeProfile(ctx context.Context, what, path string) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("create a profile: %w", err)
	}
	defer file.Close()
	q := question{
		name: what, path: fmt.Sprintf("/debug/pprof/%s?seconds=%d", what, profileSeconds), accept: "*/*",
		encoding: "identity", protocol: http1,
	}
	_, err = s.get(ctx, q, file)
	return err
}

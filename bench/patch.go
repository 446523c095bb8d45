package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// patchers is the maximum number of concurrent writes. With several writers, a slow write does not delay the next one.
const patchers = 8

// eventRate is the interval between changes of pods, and their total duration.
type eventRate struct {
	eventsFor  time.Duration
	eventEvery time.Duration
}

// patch stamps one pod after the other at a steady rate, and returns the number of stamped pods.
func patch(ctx context.Context, s *server, pods []string, rate eventRate) (int, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(patchers)
	tick := time.NewTicker(rate.eventEvery)
	defer tick.Stop()
	sent := int(rate.eventsFor / rate.eventEvery)
	for i := range sent {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return 0, group.Wait()
		}
		group.Go(func() error { return stamp(ctx, s, pods[i%len(pods)]) })
	}
	return sent, group.Wait()
}

// stamp writes the current time into the annotation stampKey of the object with a path.
func stamp(ctx context.Context, s *server, path string) error {
	body := fmt.Sprintf(`{"metadata":{"annotations":{%s%d"}}}`, stampBefore, time.Now().UnixNano())
	request, err := http.NewRequestWithContext(ctx, http.MethodPatch, s.base+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/merge-patch+json")
	request.Header.Set("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
	response, err := s.clients[http2].Do(request)
	if err != nil {
		return fmt.Errorf("patch a pod: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.1000s", response.Status, answer)
	}
	if err != nil {
		return fmt.Errorf("patch %s: %w", path, err)
	}
	return nil
}

// somePods is the path of the list of the pods that measurements change.
const somePods = "/api/v1/pods?limit=1000"

// names returns the paths of the pods in a list.
func names(ctx context.Context, s *server, of string) ([]string, error) {
	var list struct {
		Items []struct {
			Metadata struct{ Namespace, Name string }
		}
	}
	q := question{name: "names", path: of, accept: metadataType, encoding: "identity", protocol: http2}
	a, err := s.read(ctx, q)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(a.body, &list); err != nil {
		return nil, fmt.Errorf("read the pods' names: %w", err)
	}
	var paths []string
	for _, pod := range list.Items {
		paths = append(paths, "/api/v1/namespaces/"+pod.Metadata.Namespace+"/pods/"+pod.Metadata.Name)
	}
	return paths, nil
}

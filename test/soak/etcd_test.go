package soak

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
)

// etcd is a client of the cluster's etcd, by its JSON gateway.
type etcd struct {
	url    string
	dir    string // etcd's data directory
	client *http.Client
}

// number is an int64 as the gateway writes it.
type number uint64

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(text []byte) error {
	value, err := strconv.ParseUint(strings.Trim(string(text), `"`), 10, 64)
	*n = number(value)
	return err
}

// keyValue is a key of etcd with its revisions.
type keyValue struct {
	Key      []byte `json:"key"`
	Revision number `json:"mod_revision"`
}

type etcdHeader struct {
	Revision number `json:"revision"`
}

// watchAnswer is one message of a watch.
type watchAnswer struct {
	Result struct {
		Header  etcdHeader `json:"header"`
		Created bool       `json:"created"`
		// CompactRevision and Canceled are set for a watch that cannot continue.
		CompactRevision number `json:"compact_revision"`
		Canceled        bool   `json:"canceled"`
		Events          []struct {
			Type string   `json:"type"` // "" is PUT
			KV   keyValue `json:"kv"`
		} `json:"events"`
	} `json:"result"`
}

// newEtcd finds the cluster's etcd by kube-apiserver's flags.
func newEtcd(t *testing.T, c *testkit.Cluster) *etcd {
	t.Helper()
	pki := func(name string) string { return filepath.Join(c.Dir, "pki", name) }
	pair, err := tls.LoadX509KeyPair(pki("etcd-client.crt"), pki("etcd-client.key"))
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(pki("etcd-ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	return &etcd{url: etcdURL(t, c), dir: filepath.Join(c.Dir, "etcd"), client: &http.Client{Transport: transport}}
}

// etcdURL reads etcd's address from the command line of kube-apiserver.
func etcdURL(t *testing.T, c *testkit.Cluster) string {
	t.Helper()
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", c.Processes["kube-apiserver"].PID))
	if err != nil {
		t.Skipf("command lines cannot be read here: %v", err)
	}
	for argument := range strings.SplitSeq(string(line), "\x00") {
		if url, ok := strings.CutPrefix(argument, "--etcd-servers="); ok {
			return url
		}
	}
	t.Fatalf("kube-apiserver's command line names no etcd: %q", line)
	return ""
}

// post sends a request. The caller closes the body of the answer.
func (e *etcd) post(ctx context.Context, path string, question any) (io.ReadCloser, error) {
	body, err := json.Marshal(question)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	response, err := e.client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return nil, fmt.Errorf("etcd %s: %s: %s", path, response.Status, text)
	}
	return response.Body, nil
}

// put writes a key as a barrier: a watch that sends it has sent all earlier events.
func (e *etcd) put(ctx context.Context, key string) error {
	body, err := e.post(ctx, "/v3/kv/put", map[string]any{"key": []byte(key), "value": []byte("x")})
	if err != nil {
		return err
	}
	return body.Close()
}

// all returns every key below /registry/, and the store's revision.
func (e *etcd) all(ctx context.Context) ([]keyValue, uint64, error) {
	body, err := e.post(ctx, "/v3/kv/range", map[string]any{"key": []byte("/registry/"), "range_end": []byte("/registry0"), "keys_only": true})
	if err != nil {
		return nil, 0, err
	}
	defer body.Close()
	var answer struct {
		Header etcdHeader `json:"header"`
		KVs    []keyValue `json:"kvs"`
	}
	err = json.NewDecoder(body).Decode(&answer)
	return answer.KVs, uint64(answer.Header.Revision), err
}

// errCompacted is returned if the start of a watch is compacted.
var errCompacted = errors.New("etcd was compacted under its watch")

// watch calls tell for every change below /registry/ from a revision on, until etcd ends.
func (e *etcd) watch(ctx context.Context, from uint64, tell func(*watchAnswer)) error {
	body, err := e.post(ctx, "/v3/watch", map[string]any{"create_request": map[string]any{
		"key": []byte("/registry/"), "range_end": []byte("/registry0"), "start_revision": strconv.FormatUint(from, 10),
	}})
	if err != nil {
		return err
	}
	defer body.Close()
	for answers := json.NewDecoder(body); ; {
		var answer watchAnswer
		if err := answers.Decode(&answer); err != nil {
			return err
		}
		if answer.Result.CompactRevision > 0 {
			return errCompacted
		}
		tell(&answer)
	}
}

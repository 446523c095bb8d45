package devcluster

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/listfacade/listfacade/devcluster/internal/binaries"
	"github.com/listfacade/listfacade/devcluster/internal/probe"
	"github.com/listfacade/listfacade/devcluster/internal/process"
)

// progressEvery is the interval of etcd's progress notifications. kubeadm uses the same interval. Without other events,
// the notifications advance kube-apiserver's periodic bookmarks.
const progressEvery = 5 * time.Second

// etcdStart is the timeout for the start of etcd. A start takes half a second on an idle machine, and much longer while
// a compiler runs.
const etcdStart = 2 * time.Minute

type etcd struct {
	url    string
	client *probe.Client
}

func (c *Cluster) addEtcds() (err error) {
	if c.etcd, err = c.addEtcd(etcdName); err != nil || len(c.options.SeparateEtcd) == 0 {
		return err
	}
	c.separate, err = c.addEtcd(separateEtcdName)
	return err
}

func (c *Cluster) addEtcd(name string) (*etcd, error) {
	httpClient, err := probe.NewClient(c.certificates.etcdCA.CertFile(), c.certificates.EtcdClient)
	if err != nil {
		return nil, err
	}
	client, err := c.reserve()
	if err != nil {
		return nil, err
	}
	peer, err := c.reserve()
	if err != nil {
		return nil, err
	}
	e := &etcd{url: "https://" + client.Address(), client: httpClient}
	c.add(binaries.Etcd, process.Spec{
		Name:        name,
		Args:        append(c.etcdArgs(c.path(name), e.url, "http://"+peer.Address()), c.options.Etcd...),
		Ready:       func(ctx context.Context) error { return httpClient.Get(ctx, e.url+"/readyz") },
		ReadyWithin: etcdStart,
	})
	return e, nil
}

// etcdArgs returns the flags of one etcd. Its peer URL has no TLS, because this etcd has no other members.
func (c *Cluster) etcdArgs(dir, url, peerURL string) []string {
	args := []string{
		"--name=devcluster",
		"--data-dir=" + dir,
		"--listen-client-urls=" + url,
		"--advertise-client-urls=" + url,
		"--listen-peer-urls=" + peerURL,
		"--initial-advertise-peer-urls=" + peerURL,
		"--initial-cluster=devcluster=" + peerURL,
		"--client-cert-auth",
		"--trusted-ca-file=" + c.certificates.etcdCA.CertFile(),
		"--cert-file=" + c.certificates.EtcdServer.CertFile,
		"--key-file=" + c.certificates.EtcdServer.KeyFile,
		"--watch-progress-notify-interval=" + progressEvery.String(),
		"--log-level=warn",
	}
	if c.options.Sync == Unsafe {
		args = append(args, "--unsafe-no-fsync")
	}
	return args
}

// compact compacts etcd at the current revision and returns the revision. A watch or a list at an older revision then
// fails as soon as it reaches etcd.
func (e *etcd) compact(ctx context.Context) (int64, error) {
	var current struct {
		Header struct {
			Revision string `json:"revision"`
		} `json:"header"`
	}
	// The response to any read contains the current revision. The key, one zero byte ("AA=="), does not exist.
	if err := e.client.Post(ctx, e.url+"/v3/kv/range", map[string]string{"key": "AA=="}, &current); err != nil {
		return 0, fmt.Errorf("read etcd's revision: %w", err)
	}
	revision, err := strconv.ParseInt(current.Header.Revision, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("parse etcd's revision: %w", err)
	}
	request := map[string]string{"revision": current.Header.Revision}
	if err := e.client.Post(ctx, e.url+"/v3/kv/compaction", request, nil); err != nil {
		return 0, fmt.Errorf("compact etcd at %d: %w", revision, err)
	}
	return revision, nil
}

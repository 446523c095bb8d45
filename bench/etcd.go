package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/listfacade/listfacade/bench/internal/proc"
)

// etcd is a client of etcd's JSON gateway. The client library would add gRPC for a single kind of request.
type etcd struct {
	url    string
	client *http.Client
}

// openEtcd returns a client with the address and the credentials in the command line of the running kube-apiserver.
func openEtcd(apiServer proc.Process) (*etcd, error) {
	args, err := apiServer.CommandLine()
	if err != nil {
		return nil, err
	}
	values := map[string]string{"etcd-servers": "", "etcd-cafile": "", "etcd-certfile": "", "etcd-keyfile": ""}
	for name := range values {
		if values[name], err = flagOf(args, name); err != nil {
			return nil, err
		}
	}
	pair, err := tls.LoadX509KeyPair(values["etcd-certfile"], values["etcd-keyfile"])
	if err != nil {
		return nil, fmt.Errorf("load etcd's client certificate: %w", err)
	}
	authority, err := os.ReadFile(values["etcd-cafile"])
	if err != nil {
		return nil, fmt.Errorf("load etcd's CA certificate: %w", err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS13}
	config.RootCAs.AppendCertsFromPEM(authority)
	return &etcd{url: values["etcd-servers"],
		client: &http.Client{Transport: &http.Transport{TLSClientConfig: config}}}, nil
}

// put is one write of a transaction in the gateway's JSON. encoding/json encodes bytes as base64, as the gateway
// requires.
type put struct {
	Request struct {
		Key   []byte `json:"key"`
		Value []byte `json:"value"`
	} `json:"requestPut"`
}

func newPut(key string, value []byte) put {
	var p put
	p.Request.Key, p.Request.Value = []byte(key), value
	return p
}

// write writes all keys in one transaction. etcd accepts up to 128 writes and 1.5 MiB.
func (e *etcd) write(ctx context.Context, puts []put) error {
	body, err := json.Marshal(map[string][]put{"success": puts})
	if err != nil {
		return fmt.Errorf("encode a transaction: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url+"/v3/kv/txn", bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := e.client.Do(request)
	if err != nil {
		return fmt.Errorf("write to etcd: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, answer)
	}
	if err != nil {
		return fmt.Errorf("write to etcd: %w", err)
	}
	return nil
}

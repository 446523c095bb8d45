package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"

	"github.com/listfacade/listfacade/bench/internal/proc"
	"github.com/listfacade/listfacade/bench/internal/simulated"
)

const (
	// simulateUpstream is the first argument with which the benchmark starts itself as a simulated kube-apiserver. The
	// other arguments are the numbers of pods and nodes, and the files of a certificate and its key.
	simulateUpstream = "simulate-upstream"
	// upstreamNice is the niceness of the simulated server with -sizes. A real kube-apiserver would run on another
	// machine. steadyNice is the niceness of other simulated servers, which must change pods at a steady rate.
	upstreamNice, steadyNice = "10", "0"
)

// upstream is a running simulated kube-apiserver.
type upstream struct {
	*server
	kubeconfig string
	command    *exec.Cmd
	stdin      io.Closer // closing it ends the server
}

// startUpstream starts a simulated kube-apiserver with the given numbers of pods and nodes (simulated.NewPods). It
// writes the server's files into dir.
func startUpstream(ctx context.Context, dir string, pods, nodes int) (*upstream, error) {
	say("simulating %d pods", pods)
	certFile, keyFile, err := servingPair(dir)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the benchmark's executable: %w", err)
	}
	u := &upstream{kubeconfig: filepath.Join(dir, "upstream.kubeconfig")}
	nice := upstreamNice
	if nodes > 0 {
		nice = steadyNice
	}
	u.command = exec.CommandContext(ctx, "nice", "-n", nice, self, simulateUpstream, strconv.Itoa(pods),
		strconv.Itoa(nodes), certFile, keyFile)
	u.command.Stderr = os.Stderr
	stdout, err := u.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if u.stdin, err = u.command.StdinPipe(); err != nil {
		return nil, err
	}
	if err := u.command.Start(); err != nil {
		return nil, fmt.Errorf("simulate a kube-apiserver: %w", err)
	}
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err == nil {
		err = u.reachedAt("https://"+strings.TrimSpace(address), certFile)
	}
	if err != nil {
		u.stop()
		return nil, fmt.Errorf("simulate a kube-apiserver: %w", err)
	}
	return u, nil
}

// reachedAt creates a client of the server, and the facade's kubeconfig.
func (u *upstream) reachedAt(host, certFile string) (err error) {
	u.server, err = newServer("simulated upstream", proc.Process(u.command.Process.Pid), &rest.Config{
		Host: host, TLSClientConfig: rest.TLSClientConfig{CAFile: certFile},
	})
	if err != nil {
		return err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["simulated"] = &clientcmdapi.Cluster{Server: host, CertificateAuthority: certFile}
	config.Contexts["simulated"] = &clientcmdapi.Context{Cluster: "simulated"}
	config.CurrentContext = "simulated"
	return clientcmd.WriteToFile(*config, u.kubeconfig)
}

func (u *upstream) stop() {
	_ = u.stdin.Close()
	_ = u.command.Wait() // its exit status is not measured
}

// servingPair creates a self-signed certificate for the loopback address.
func servingPair(dir string) (certFile, keyFile string, err error) {
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return "", "", fmt.Errorf("create a certificate: %w", err)
	}
	certFile, keyFile = filepath.Join(dir, "upstream.crt"), filepath.Join(dir, "upstream.key")
	return certFile, keyFile, errors.Join(os.WriteFile(certFile, certificate, 0o600), os.WriteFile(keyFile, key, 0o600))
}

// update changes pods and returns when all updates are done.
func (u *upstream) update(ctx context.Context, updates simulated.Updates) error {
	body, err := json.Marshal(updates)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, u.base+simulated.UpdatesPath, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := u.clients[http2].Do(request)
	if err != nil {
		return fmt.Errorf("change pods: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("change pods: %s", response.Status)
	}
	return nil
}

// beUpstream is the main function of the simulated kube-apiserver's process.
func beUpstream(args []string) error {
	if len(args) != 4 {
		return errors.New(simulateUpstream + " needs two numbers, a certificate and a key")
	}
	pods, err := strconv.Atoi(args[0])
	nodes, errNodes := strconv.Atoi(args[1])
	if err := errors.Join(err, errNodes); err != nil {
		return fmt.Errorf("%s: %w", simulateUpstream, err)
	}
	return simulated.Serve(pods, nodes, args[2], args[3])
}

// startAlone starts a facade in front of a simulated kube-apiserver, and waits until it is ready. Its clients
// are anonymous.
func startAlone(ctx context.Context, dir string, u *upstream, pods int, flags ...string) (*facade, startCost, error) {
	port, err := freePort()
	if err != nil {
		return nil, startCost{}, err
	}
	say("filling %s", facadeName)
	f := &facade{objects: pods, process: exec.CommandContext(ctx, filepath.Join(dir, facadeName), append([]string{
		"--kubeconfig", u.kubeconfig, "--secure-port", port, "--cert-dir", dir, "--profiling", "--log-level", "warn",
	}, flags...)...)}
	f.process.Stderr = os.Stderr
	c, err := f.start(ctx, &rest.Config{
		Host:            "https://" + net.JoinHostPort("127.0.0.1", port),
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(dir, "listfacade.crt")},
	}, u.server)
	return f, c, err
}

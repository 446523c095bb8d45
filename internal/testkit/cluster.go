package testkit

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
	"strings"
	"sync"
	"syscall"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// Cluster is a running devcluster: a real etcd and a real kube-apiserver.
type Cluster struct {
	Info
	process *exec.Cmd
	stdin   io.Closer
	control *http.Client
	stderr  *tail
	once    sync.Once
}

// Info is the devcluster's description of itself.
type Info struct {
	Dir         string            `json:"dir"`
	Server      string            `json:"server"`
	Servers     map[string]string `json:"servers"` // address of each kube-apiserver, by process
	CAFile      string            `json:"caFile"`
	Kubeconfigs map[string]string `json:"kubeconfigs"` // by user, such as admin or alice
	Binaries    map[string]string `json:"binaries"`
	Processes   map[string]struct {
		PID int `json:"pid"`
	} `json:"processes"`
	Control     string               `json:"control"`
	Serving     FilesPair            `json:"serving"`     // signed by CAFile, for localhost
	Authorities map[string]FilesPair `json:"authorities"` // ClientCA and FrontProxyCA
}

// FilesPair names the files of a certificate and its private key.
type FilesPair struct {
	CertFile string `json:"certFile"`
	KeyFile  string `json:"keyFile"`
}

// StartCluster starts a cluster of the release that the environment names, with further flags of `devcluster up`. It
// builds missing binaries, which takes minutes the first time. Progress goes to stderr.
func StartCluster(ctx context.Context, flags ...string) (*Cluster, error) {
	root, err := moduleRoot(ctx)
	if err != nil {
		return nil, err
	}
	c, stdout, err := startDevcluster(ctx, root, flags)
	if err != nil {
		return nil, err
	}
	line, err := bufio.NewReaderSize(stdout, 1<<20).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &c.Info)
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("start the devcluster: %w\n%s", err, c.stderr)
	}
	c.control = &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", c.Control)
		},
	}}
	return c, nil
}

// releaseFlags are the flags that tests need with a release. Selectable fields of custom resources are off by default
// in 1.30.
var releaseFlags = map[string][]string{"1.30": {"--apiserver-arg=--feature-gates=CustomResourceFieldSelectors=true"}}

// startDevcluster builds the command and runs it. It holds a lock, because other packages may build the same binary
// concurrently, and a binary that is being written cannot be executed.
func startDevcluster(ctx context.Context, root string, flags []string) (*Cluster, io.Reader, error) {
	unlock, err := lockBuild(filepath.Join(root, "bin"))
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	binary, err := buildDevcluster(ctx, root)
	if err != nil {
		return nil, nil, err
	}
	args := []string{"up", "--json", "--exit-with-stdin", "--module-dir", filepath.Join(root, "devcluster")}
	if release := settings.Upstream(); release != "" {
		args = append(append(args, "--release", release), releaseFlags[release]...)
	}
	args = append(args, flags...)
	c := &Cluster{process: exec.Command(binary, args...), stderr: &tail{limit: 16 << 10}}
	c.process.Stderr = io.MultiWriter(os.Stderr, c.stderr)
	if c.stdin, err = c.process.StdinPipe(); err != nil {
		return nil, nil, err
	}
	stdout, err := c.process.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := c.process.Start(); err != nil {
		return nil, nil, fmt.Errorf("start the devcluster: %w", err)
	}
	return c, stdout, nil
}

// lockBuild waits for the lock of builds into a directory. The kernel releases the lock when the process ends.
func lockBuild(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), file.Close())
	}
	return func() { _ = file.Close() }, nil // closing the file releases the lock
}

// Close ends the cluster and everything that it started.
func (c *Cluster) Close() {
	c.once.Do(func() {
		_ = c.stdin.Close()
		_ = c.process.Wait()
	})
}

// Config returns the client configuration of a user.
func (c *Cluster) Config(user string) (*rest.Config, error) {
	file, ok := c.Kubeconfigs[user]
	if !ok {
		return nil, fmt.Errorf("the devcluster has no user %q", user)
	}
	return clientcmd.BuildConfigFromFlags("", file)
}

// Do sends a command to a process: kill, stop, start, restart, pause, continue.
func (c *Cluster) Do(ctx context.Context, process, command string) error {
	return c.post(ctx, "/processes/"+process+"/"+command)
}

// Compact compacts etcd at the current revision.
func (c *Cluster) Compact(ctx context.Context) error { return c.post(ctx, "/compact") }

func (c *Cluster) post(ctx context.Context, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://devcluster"+path, nil)
	if err != nil {
		return err
	}
	response, err := c.control.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		return fmt.Errorf("devcluster %s: %s: %s", path, response.Status, bytes.TrimSpace(body))
	}
	return nil
}

func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	file := strings.TrimSpace(string(out))
	if file == "" || file == os.DevNull {
		return "", errors.New("the test does not run inside the module")
	}
	return filepath.Dir(file), nil
}

// buildDevcluster compiles the devcluster command. It does nothing if LISTFACADE_DEVCLUSTER_BUILT is 1, because the go
// command needs two seconds of CPU even if nothing has changed.
func buildDevcluster(ctx context.Context, root string) (string, error) {
	binary := filepath.Join(root, "bin", "devcluster")
	if os.Getenv("LISTFACADE_DEVCLUSTER_BUILT") == "1" {
		return binary, nil
	}
	if err := Compile(ctx, filepath.Join(root, "devcluster"), binary, "./cmd/devcluster", Quickly()...); err != nil {
		return "", err
	}
	return binary, nil
}

// tail keeps the last bytes that were written to it, for error messages.
type tail struct {
	mu    sync.Mutex
	data  []byte
	limit int
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if extra := len(t.data) - t.limit; extra > 0 {
		t.data = append(t.data[:0], t.data[extra:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.data)
}

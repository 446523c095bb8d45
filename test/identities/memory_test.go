package identities

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// process is a facade that runs in a separate process.
type process struct {
	*exec.Cmd
	facade *suite.Facade
	said   bytes.Buffer // for when it has ended
	over   sync.Once
}

// end terminates the process, once, and returns its output.
func (p *process) end(t *testing.T) string {
	t.Helper()
	p.over.Do(func() {
		_ = p.Process.Signal(syscall.SIGTERM)
		if err := p.Wait(); err != nil {
			t.Errorf("the facade ended with %v", err)
		}
	})
	return p.said.String()
}

// startProcess compiles and starts the command, with further arguments. Its garbage collector overwrites freed memory.
func startProcess(t *testing.T, w *world, further ...string) *process {
	t.Helper()
	dir := t.TempDir()
	c := facade.Defaults()
	c.Port, c.CertDir = suite.FreePort(t), dir
	arguments := append([]string{
		"--kubeconfig", w.Kubeconfigs["listfacade"], "--secure-port", strconv.Itoa(c.Port), "--cert-dir", dir,
		"--shutdown-delay-duration", "0", "--authorization-extras", settings.Extras(),
	}, further...)
	p := &process{Cmd: exec.Command(testkit.Program(t), arguments...)}
	p.Env = append(os.Environ(), "GODEBUG=clobberfree=1", "GOGC=10")
	p.Stdout, p.Stderr = &p.said, &p.said
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if said := p.end(t); t.Failed() {
			t.Logf("output of the facade:\n%s", said)
		}
	})
	url := "https://127.0.0.1:" + strconv.Itoa(c.Port)
	p.facade = &suite.Facade{URL: url, Config: &rest.Config{Host: url, TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(dir, "listfacade.crt")}}}
	testkit.Eventually(t, "the certificate file exists", func() error {
		_, err := os.Stat(p.facade.Config.CAFile)
		return err
	})
	p.facade.AwaitReady(t)
	return p
}

// holds reports whether the writable memory of the process contains the text.
func (p *process) holds(t *testing.T, text string) bool {
	t.Helper()
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", p.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	defer maps.Close()
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", p.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		first, last, _ := strings.Cut(fields[0], "-")
		from, err := strconv.ParseInt(first, 16, 64)
		to, err2 := strconv.ParseInt(last, 16, 64)
		if errors.Join(err, err2) == nil && strings.HasPrefix(fields[1], "rw") && contains(memory, from, to, text) {
			return true
		}
	}
	return false
}

// contains reads memory in pieces and ignores ranges that cannot be read.
func contains(memory io.ReaderAt, from, to int64, text string) bool {
	piece := make([]byte, 4<<20)
	for at := from; at < to; at += int64(len(piece) - len(text)) {
		n, _ := memory.ReadAt(piece[:min(int64(len(piece)), to-at)], at)
		if bytes.Contains(piece[:n], []byte(text)) {
			return true
		}
	}
	return false
}

// A caller with the right to read Secrets reads them through a facade whose own user lacks it. Soon afterwards the
// facade's memory no longer contains them.
func TestSecretsAreNotKeptInMemory(t *testing.T) {
	w := newWorld(t)
	p := startProcess(t, w)
	config, err := w.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	secrets := clients.CoreV1().Secrets(suite.FirstNamespace)
	canary := fmt.Sprintf("canary-%x-%x", time.Now().UnixNano(), os.Getpid())
	putSecret(t, secrets, "kept", canary)

	facadeConfig, err := w.Config("listfacade")
	if err != nil {
		t.Fatal(err)
	}
	own, err := testkit.NewAsker(facadeConfig)
	if err != nil {
		t.Fatal(err)
	}
	if err := expect(own.MustAsk(t, testkit.Question{Path: "/api/v1/secrets"}), http.StatusForbidden); err != nil {
		t.Errorf("the facade's own user: %v", err)
	}
	o := w.as(t, p.facade, "robot")
	for _, path := range []string{robotsSecrets, robotsSecrets + "/kept"} {
		if answer := get(t, o, http.StatusOK, path); !strings.Contains(string(answer.Body), canary) {
			t.Errorf("%s: %s", path, head(answer.Body))
		}
	}
	stream(t, o, testkit.Question{Path: robotsSecrets + "?watch=1&timeoutSeconds=1"})

	testkit.Eventually(t, "a cached object is found in memory, so the search works", func() error {
		get(t, o, http.StatusOK, inFirstNamespace) // kube-apiserver may answer while the cache is filled
		if !p.holds(t, inNamed) {
			return errors.New("it is not found")
		}
		return nil
	})
	// A connection's buffer keeps the last body until it reads another one, so the test sends further requests.
	if err := secrets.Delete(t.Context(), "kept", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		name := fmt.Sprintf("large-%d", i)
		putSecret(t, secrets, name, strings.Repeat("x", 100<<10))
		defer func() { _ = secrets.Delete(t.Context(), name, metav1.DeleteOptions{}) }()
	}
	testkit.Eventually(t, "the secret is gone from memory", func() error {
		for range 20 {
			o.Facade.MustAsk(t, testkit.Question{Path: robotsSecrets})
			o.Facade.MustAsk(t, testkit.Question{Path: inFirstNamespace})
		}
		if p.holds(t, canary) {
			return errors.New("it is still there")
		}
		return nil
	})
}

// putSecret creates a secret that contains a note.
func putSecret(t *testing.T, secrets typedv1.SecretInterface, name, note string) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"note": note[:min(len(note), 1<<10)]}}, StringData: map[string]string{"note": note}}
	if _, err := secrets.Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

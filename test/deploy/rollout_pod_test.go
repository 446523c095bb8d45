package deploy

import (
	"bufio"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/listfacade/listfacade/internal/testkit"
)

// podSpec describes a Deployment's pod as a process: its arguments, with directories of the test as volumes.
type podSpec struct {
	program   string
	args, env []string
	volumes   map[string]string // directories by the names of volumes
}

// servingAt matches the address in the line that the program prints when it serves.
var servingAt = regexp.MustCompile(`https://(127\.0\.0\.1:\d+)`)

// podOf writes the volumes of the Deployment's pods. Further flags follow those of the container.
func podOf(t *testing.T, m manifests, flags ...string) podSpec {
	t.Helper()
	deployment := of[appsv1.Deployment](t, m, "Deployment")[0]
	container := facadeContainer(t, m)
	spec := podSpec{program: testkit.Program(t), env: os.Environ(), volumes: map[string]string{}}
	var places []string
	for _, mount := range container.VolumeMounts {
		for _, volume := range deployment.Spec.Template.Spec.Volumes {
			if volume.Name == mount.Name {
				spec.volumes[volume.Name] = t.TempDir()
				places = append(places, mount.MountPath, spec.volumes[volume.Name])
			}
		}
	}
	local := strings.NewReplacer(places...)
	for _, mount := range container.VolumeMounts {
		for _, volume := range deployment.Spec.Template.Spec.Volumes {
			if volume.Name != mount.Name {
				continue
			}
			for name, text := range volumeFiles(t, m, volume) {
				if err := os.WriteFile(filepath.Join(local.Replace(mount.MountPath), name), []byte(local.Replace(text)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, arg := range container.Args {
		spec.args = append(spec.args, local.Replace(arg))
	}
	for _, variable := range container.Env {
		spec.env = append(spec.env, variable.Name+"="+variable.Value)
	}
	spec.args = append(spec.args, flags...)
	return spec
}

// volumeFiles returns the files of a volume: those of its ConfigMap, or a serving certificate instead of its Secret.
func volumeFiles(t *testing.T, m manifests, volume corev1.Volume) map[string]string {
	t.Helper()
	switch {
	case volume.ConfigMap != nil:
		for _, configMap := range of[corev1.ConfigMap](t, m, "ConfigMap") {
			if configMap.Name == volume.ConfigMap.Name {
				return configMap.Data
			}
		}
		t.Fatalf("got no ConfigMap %s, want the one of the volume %s", volume.ConfigMap.Name, volume.Name)
	case volume.Secret != nil:
		pair := testkit.NewAuthority(t, "serving").Certify(t, testkit.Certificate{
			User: "listfacade", Hosts: []string{"listfacade.listfacade-system.svc"}, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		})
		return map[string]string{corev1.TLSCertKey: string(pair.CertData), corev1.TLSPrivateKeyKey: string(pair.KeyData)}
	}
	return nil
}

// pod is a running process.
type pod struct {
	address string // host:port
	process *exec.Cmd
	ended   chan struct{} // closed when it has ended, after err was set
	err     error

	mu   sync.Mutex
	said strings.Builder
}

// start starts the process, which ends at the latest with the test.
func (s podSpec) start(t *testing.T) *pod {
	t.Helper()
	p := &pod{process: exec.Command(s.program, s.args...), ended: make(chan struct{})} //nolint:gosec // a test's own
	p.process.Env = s.env
	stderr, err := p.process.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.process.Start(); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 1)
	go func() {
		defer close(p.ended)
		defer close(address)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			p.note(lines.Text())
			if at := servingAt.FindStringSubmatch(lines.Text()); at != nil && len(address) == 0 && strings.Contains(lines.Text(), "Serving") {
				address <- at[1]
			}
		}
		p.err = p.process.Wait()
	}()
	t.Cleanup(func() {
		_ = p.process.Process.Kill() // of one that has ended this is an error
		<-p.ended
		if t.Failed() {
			t.Logf("the pod at %s wrote\n%s", p.address, p.output())
		}
	})
	if p.address = <-address; p.address == "" {
		t.Fatalf("the pod ended: %s", p.output())
	}
	return p
}

func (p *pod) note(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said.WriteString(line + "\n")
}

// output returns what the process has written so far.
func (p *pod) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.String()
}

// terminate starts the termination of the pod, as the kubelet does.
func (p *pod) terminate(t *testing.T) {
	t.Helper()
	if err := p.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// readiness waits until the pod is ready or, if want is false, not ready.
func (p *pod) readiness(t *testing.T, want bool) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: unverified(), DisableKeepAlives: true}}
	testkit.Eventually(t, fmt.Sprintf("the pod at %s is ready: %t", p.address, want), func() error {
		select {
		case <-p.ended:
			if want {
				return fmt.Errorf("it ended: %w", p.err)
			}
			return nil
		default:
		}
		response, err := client.Get("https://" + p.address + "/readyz")
		if err != nil {
			if want {
				return err
			}
			return nil
		}
		defer response.Body.Close()
		if ready := response.StatusCode == http.StatusOK; ready != want {
			return errors.New(response.Status)
		}
		return nil
	})
}

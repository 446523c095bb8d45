package devcluster_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/listfacade/listfacade/devcluster/internal/binaries"
	"github.com/listfacade/listfacade/devcluster/internal/ports"
	"github.com/listfacade/listfacade/devcluster/internal/process"
)

// repository is the directory of docker-compose.yml and of the facade's module.
const repository = ".."

// service is a service of docker-compose.yml, with the fields that the tests use.
type service struct {
	Command     []string
	Ports       []string
	DependsOn   map[string]struct{ Condition string } `json:"depends_on"`
	Healthcheck struct{ Test []string }
}

func readCompose(t *testing.T) map[string]service {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(repository, "docker-compose.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Services map[string]service }
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Services) < 5 {
		t.Fatalf("unexpected services in docker-compose.yml: %v", file.Services)
	}
	return file.Services
}

// composePrograms builds every program that the services run, by name.
func composePrograms(t *testing.T) map[string]string {
	t.Helper()
	built, err := binaries.Build(t.Context(), binaries.Options{
		Programs: []binaries.Program{binaries.Etcd, binaries.APIServer, binaries.Kubectl}, Progress: os.Stderr,
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	programs := map[string]string{"devcluster": filepath.Join(dir, "devcluster"), "listfacade": filepath.Join(dir, "listfacade")}
	for program, path := range built {
		programs[string(program)] = path
	}
	goBuild(t, ".", programs["devcluster"], "./cmd/devcluster")
	// The Makefile compiles the facade with these flags, so its packages are in the build cache.
	goBuild(t, repository, programs["listfacade"], "./cmd/listfacade", "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false")
	return programs
}

func goBuild(t *testing.T, dir, path, pkg string, environment ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "build", "-o", path, pkg)
	command.Dir, command.Env = dir, append(os.Environ(), environment...)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build %s for docker-compose.yml: %v\n%s", pkg, err, out)
	}
}

// TestComposeFlagsExist compares the flags of every service with the --help of its program.
func TestComposeFlagsExist(t *testing.T) {
	programs := composePrograms(t)
	flag := regexp.MustCompile(`^--[a-z0-9-]+`)
	for name, s := range readCompose(t) {
		commands := [][]string{s.Command}
		if len(s.Healthcheck.Test) > 0 {
			commands = append(commands, s.Healthcheck.Test[1:])
		}
		for _, command := range commands {
			help := helpOf(t, programs, command)
			for _, arg := range command[1:] {
				f := flag.FindString(arg)
				if f == "" {
					continue
				}
				if !regexp.MustCompile(`(?m)` + regexp.QuoteMeta(f) + `($|[\s=,'"])`).MatchString(help) {
					t.Errorf("service %s: %s has no flag %s", name, command[0], f)
				}
			}
		}
	}
}

// helpOf returns the output of --help of a program, or of its subcommand if the command names one.
func helpOf(t *testing.T, programs map[string]string, command []string) string {
	t.Helper()
	path, ok := programs[command[0]]
	if !ok {
		t.Fatalf("docker-compose.yml runs %s, which is not in the image", command[0])
	}
	args := []string{"--help"}
	if command[0] == "devcluster" {
		args = []string{command[1], "--help"}
	}
	out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", command[0], args, err, out)
	}
	return string(out)
}

// TestComposePublishesOnLoopbackOnly checks that the demo is not reachable from other machines.
func TestComposePublishesOnLoopbackOnly(t *testing.T) {
	published := 0
	for name, s := range readCompose(t) {
		for _, port := range s.Ports {
			published++
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("service %s publishes %s", name, port)
			}
		}
	}
	if published != 2 {
		t.Errorf("got %d published ports, want kube-apiserver's and the facade's", published)
	}
}

// TestComposeServicesWorkTogether runs the services' own commands and health checks without containers, in the order of
// their dependencies, with paths, host names and ports replaced by those of this test.
func TestComposeServicesWorkTogether(t *testing.T) {
	long(t)
	c := &composeRun{t: t, dir: t.TempDir(), services: readCompose(t), programs: composePrograms(t), done: make(map[string]bool)}
	for _, name := range []string{"etcd", "apiserver", "listfacade"} {
		c.reserve(name)
	}
	c.spawner = process.NewSpawner()
	t.Cleanup(c.spawner.Close)
	for _, dir := range []string{"pki", "etcd"} {
		if err := os.Mkdir(filepath.Join(c.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name := range c.services {
		c.up(name)
	}
	for _, way := range []string{"direct", "facade"} {
		for _, said := range []struct{ user, command, want string }{
			{"reader", "get widgets -A -o name", "widget.ex.io/"},
			{"reader", "auth whoami", "reader"},
			{"alice", "get configmap shop -n team-a -o name", "configmap/shop"},
			{"alice", "auth can-i list pods -n team-a", "yes"},
			{"alice", "auth can-i list pods -A", "no"},
			{"alice", "get pods -A", `User "alice" cannot list resource "pods"`},
		} {
			if out := c.kubectl(way, said.user, said.command); !strings.Contains(out, said.want) {
				t.Errorf("%s: %s: kubectl %s: %s", way, said.user, said.command, out)
			}
		}
	}
}

// composeRun is a run of all services on this host.
type composeRun struct {
	t        *testing.T
	dir      string
	services map[string]service
	programs map[string]string
	spawner  *process.Spawner
	address  map[string]string
	done     map[string]bool
}

// kubectl is what it says to a user who comes in a way.
func (c *composeRun) kubectl(way, user, command string) string {
	args := append([]string{
		c.programs["kubectl"], "--kubeconfig", filepath.Join(c.dir, "pki", way, user+".kubeconfig"),
		"--cache-dir", filepath.Join(c.dir, "cache", way, user),
	}, strings.Fields(command)...)
	out, _ := c.run(c.t.Context(), args) // what fails says so
	return string(out)
}

func (c *composeRun) reserve(name string) {
	c.t.Helper()
	r, err := ports.Reserve()
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = r.Release() })
	if c.address == nil {
		c.address = make(map[string]string)
	}
	c.address[name] = r.Address()
}

// up runs a service after its dependencies. It waits for the end of a service on whose completion others depend, and
// otherwise until the service is healthy.
func (c *composeRun) up(name string) {
	c.t.Helper()
	if c.done[name] {
		return
	}
	c.done[name] = true
	s, ok := c.services[name]
	if !ok {
		c.t.Fatalf("there is no service %s", name)
	}
	for dependency := range s.DependsOn {
		c.up(dependency)
	}
	command := c.onHost(name, s.Command)
	if len(s.Healthcheck.Test) == 0 {
		if out, err := c.run(c.t.Context(), command); err != nil {
			c.t.Fatalf("service %s: %v\n%s", name, err, out)
		}
		return
	}
	check := c.onHost(name, s.Healthcheck.Test[1:])
	p := process.New(process.Spec{
		Name: name, Path: command[0], Args: command[1:], LogFile: filepath.Join(c.dir, name+".log"),
		Ready: func(ctx context.Context) error {
			out, err := c.run(ctx, check)
			if err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		},
		ReadyWithin: 3 * time.Minute,
	}, c.spawner, func(err error) { c.t.Error(err) })
	c.t.Cleanup(p.Close)
	if err := p.Start(c.t.Context()); err != nil {
		c.t.Fatalf("service %s: %v", name, err)
	}
}

func (c *composeRun) run(ctx context.Context, command []string) ([]byte, error) {
	out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
	if err != nil && ctx.Err() != nil {
		err = errors.Join(err, ctx.Err())
	}
	return out, err
}

// onHost replaces the parts of a command that differ without containers: paths, host names, and addresses, because all
// services share one loopback address.
func (c *composeRun) onHost(name string, command []string) []string {
	port := func(server string) string { return strings.TrimPrefix(c.address[server], "127.0.0.1:") }
	replace := []string{
		"/pki", filepath.Join(c.dir, "pki"),
		"/var/lib/etcd", filepath.Join(c.dir, "etcd"),
		"etcd:2379", c.address["etcd"], "0.0.0.0:2379", c.address["etcd"], "127.0.0.1:2379", c.address["etcd"],
		"kube-apiserver:6443", c.address["apiserver"], "127.0.0.1:6444", c.address["apiserver"],
		"--bind-address=0.0.0.0", "--bind-address=127.0.0.1", // all addresses of a container, but not of this machine
	}
	loopback := map[string]string{"certs": "listfacade", "kube-apiserver": "apiserver", "listfacade": "listfacade"}
	if own, ok := loopback[name]; ok {
		replace = append(replace, "127.0.0.1:6443", c.address[own], "--secure-port=6443", "--secure-port="+port(own))
	}
	replacer := strings.NewReplacer(replace...)
	result := []string{c.programs[command[0]]}
	for _, arg := range command[1:] {
		result = append(result, replacer.Replace(arg))
	}
	if command[0] == string(binaries.APIServer) {
		result = append(result, "--bind-address=127.0.0.1") // its default is all addresses
	}
	return result
}

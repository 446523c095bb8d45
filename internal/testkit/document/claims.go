package document

// The documents whose blocks are all in claims.
const (
	Readme     = "README.md"
	Clients    = "docs/clients.md"
	TimeTravel = "docs/time-travel.md"
)

// claim says which test uses a block, or why no test does.
type claim struct {
	section string
	number  int
	pkg     string // the directory of the test's package
	test    string
	reason  string // in place of a test
}

// claims contains each block of the documents, in their order.
var claims = map[string][]claim{
	Readme: {
		{section: "listfacade", number: 0, reason: "a drawing"},
		{section: "listfacade", number: 1, reason: "a drawing"},
		{section: "Try it", number: 0, pkg: "test/deploy", test: "TestMakeRun"},
		{section: "Test it", number: 0, pkg: "test/deploy", test: "TestMakeTestRunsEverySuite"},
		{section: "Install it", number: 0, pkg: "test/deploy", test: "TestFacadeOfOneUser"},
		{section: "Install it", number: 1, pkg: "test/deploy", test: "TestInstallIntoEmptyCluster"},
		{section: "Install it", number: 2, pkg: "test/deploy", test: "TestMakeReleasePush"},
		{section: "Point clients at it", number: 0, pkg: "test/deploy", test: "TestFacadeOfOneUser"},
		{section: "Point clients at it", number: 1, pkg: "test/deploy", test: "TestInstallIntoEmptyCluster"},
	},
	Clients: {
		{section: "A kubeconfig for programs that read", number: 0, pkg: "test/moved", test: "TestPythonWatchesPods"},
		{section: "Pods without a change", number: 0, pkg: "test/moved", test: "TestInClusterConfigUsesSplit"},
		{section: "kubectl and k9s", number: 0, pkg: "test/moved", test: "TestKubectlCommandsOfPage"},
		{section: "Prometheus", number: 0, pkg: "test/moved", test: "TestPrometheusDiscoversPods"},
		{section: "kube-state-metrics", number: 0, pkg: "test/moved", test: "TestKubeStateMetricsCountsPods"},
		{section: "controller-runtime and client-go", number: 0, pkg: "test/moved", test: "TestControllerRuntimeLine"},
		{section: "controller-runtime and client-go", number: 1, pkg: "test/questions", test: "TestShardOfPage"},
		{section: "Python, Node.js, Java and Rust", number: 0, pkg: "test/moved", test: "TestPythonWatchesPods"},
	},
	TimeTravel: {
		{section: "An incident", number: 0, pkg: "test/replay", test: "TestIncidentOfThePage"},
		{section: "An incident", number: 1, pkg: "test/replay", test: "TestIncidentOfThePage"},
		{section: "An incident", number: 2, pkg: "test/replay", test: "TestIncidentOfThePage"},
		{section: "An incident", number: 3, pkg: "test/replay", test: "TestIncidentOfThePage"},
		{section: "An incident", number: 4, pkg: "test/replay", test: "TestIncidentOfThePage"},
		{section: "An incident", number: 5, pkg: "test/replay", test: "TestIncidentOfThePage"},
		{section: "An incident", number: 6, pkg: "test/replay", test: "TestIncidentOfThePage"},
		{section: "An incident", number: 7, pkg: "test/replay", test: "TestIncidentOfThePage"},
	},
}

// spans contains, by document, each command between backquotes that has a flag, with the reason why no test runs it.
var spans = map[string]map[string]string{
	Readme:  {"kubectl -n listfacade-system port-forward service/listfacade 6443:443": "A Service needs nodes. TestInstallIntoEmptyCluster reaches the facade at its own port."},
	Clients: {"k9s --cluster facade --readonly": "k9s is a program for terminals, which docs/clients.md lists as not tested. Its cmd/root.go has both flags."},
}

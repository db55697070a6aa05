package kube

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// The versions that the modules in build/ pin.
const (
	kwokVersion = "v0.8.0"
	helmVersion = "v4.2.4"
)

// controlPlanes are the versions of Kubernetes that can be run, by minor, with that of etcd, and the folders of the
// modules that pin them. The first is the default.
var controlPlanes = []struct{ minor, version, etcd, dir string }{
	{"1.36", "v1.36.3", "v3.6.8", "build"},
	{"1.37", "v1.37.2", "v3.7.0", "build/v1.37"},
	{"1.30", "v1.30.14", "v3.5.10", "build/v1.30"},
}

// minorVariable is the environment variable that names the minor of Kubernetes to build and run, such as 1.30.
const minorVariable = "JOINER_KUBERNETES"

// KubernetesVersion returns the version of the binaries that Binaries builds, such as v1.36.3: the default, or that of the minor which the
// environment variable JOINER_KUBERNETES names. It is empty where that one cannot be built; Binaries says so.
func KubernetesVersion() string {
	minor := cmp.Or(os.Getenv(minorVariable), controlPlanes[0].minor)
	for _, p := range controlPlanes {
		if p.minor == minor {
			return p.version
		}
	}
	return ""
}

// Assets are the absolute paths of the programs a cluster is made of.
type Assets struct {
	Etcd              string
	APIServer         string
	Scheduler         string
	ControllerManager string
	Kubectl           string
	// Kwok plays the kubelets of machines that do not exist; the control plane
	// does not run it, package machine does.
	Kwok string
	// Helm installs charts; kube runs none itself.
	Helm string
}

// program is one binary: how it is called on disk and what it is built from.
type program struct {
	name  string
	pkg   string
	build buildModule
	path  func(*Assets) *string

	published publisher // of the official binary
}

// buildModule is a Go module whose requirements pin the programs.
type buildModule struct {
	dir     string // below this package's folder
	version string // for the name of the cache folder
	ldflags string
	etcd    string // version of etcd; "" = it has none
}

// programs returns what a cluster is made of, of the minor of Kubernetes that is asked for.
func programs() ([]program, error) {
	const stamp = "k8s.io/component-base/version"
	var control buildModule
	for _, p := range controlPlanes {
		if p.version != KubernetesVersion() {
			continue
		}
		control = buildModule{
			dir: p.dir, version: p.version, etcd: p.etcd,
			ldflags: "-s -w -X " + stamp + ".gitVersion=" + p.version + " -X " + stamp + ".gitMajor=1" +
				" -X " + stamp + ".gitMinor=" + strings.TrimPrefix(p.minor, "1.") + " -X " + stamp + ".gitTreeState=clean",
		}
	}
	if control.dir == "" {
		var minors []string
		for _, p := range controlPlanes {
			minors = append(minors, p.minor)
		}
		return nil, fmt.Errorf("%s=%s: no module pins that minor of Kubernetes; use one of %s", minorVariable, os.Getenv(minorVariable), strings.Join(minors, ", "))
	}
	nodes := buildModule{dir: "build/kwok", version: "kwok-" + kwokVersion, ldflags: "-s -w"}
	charts := buildModule{dir: "build/helm", version: "helm-" + helmVersion, ldflags: "-s -w"}
	return []program{
		{"etcd", "go.etcd.io/etcd/server/v3", control, func(a *Assets) *string { return &a.Etcd }, etcdArchive},
		{"kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver", control,
			func(a *Assets) *string { return &a.APIServer }, fileOfRelease},
		{"kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler", control,
			func(a *Assets) *string { return &a.Scheduler }, fileOfRelease},
		{"kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager", control,
			func(a *Assets) *string { return &a.ControllerManager }, fileOfRelease},
		{"kubectl", "k8s.io/kubernetes/cmd/kubectl", control, func(a *Assets) *string { return &a.Kubectl }, fileOfRelease},
		{"kwok", "sigs.k8s.io/kwok/cmd/kwok", nodes, func(a *Assets) *string { return &a.Kwok }, nobody},
		{"helm", "helm.sh/helm/v4/cmd/helm", charts, func(a *Assets) *string { return &a.Helm }, nobody},
	}, nil
}

// Binaries returns every program of Assets. One found in the folder that the
// environment variable KUBEBUILDER_ASSETS names is used as it is, whatever its
// version. The others come from the user's cache folder (os.UserCacheDir,
// joiner/kube). Those that are not there are fetched first, the official ones
// of Kubernetes and etcd, whose checksums must hold; what cannot be fetched is
// built: that takes some ten minutes on two cores, the first time. The
// variables JOINER_KUBERNETES_RELEASES and JOINER_ETCD_RELEASES name other
// places to fetch from, laid out as dl.k8s.io/release and etcd's releases on
// GitHub are; "off" has them built.
//
// progress takes a line when something is fetched or built, and one every few
// seconds while it is built; nothing is written when all is there. Several processes may call
// this at once: one builds, the others wait for it. The error of a build
// carries the end of the compiler's output.
func Binaries(ctx context.Context, progress io.Writer) (Assets, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return Assets{}, fmt.Errorf("find the user's cache folder: %w", err)
	}
	wanted, err := programs()
	if err != nil {
		return Assets{}, err
	}
	return find(ctx, finder{
		cacheDir:   filepath.Join(cache, "joiner", "kube"),
		given:      os.Getenv("KUBEBUILDER_ASSETS"),
		progress:   progress,
		programs:   wanted,
		releases:   releasesFrom(os.Getenv),
		moduleRoot: packageDir,
	})
}

// finder is what find needs to know of the world.
type finder struct {
	cacheDir   string
	given      string // a folder of ready binaries, or ""
	progress   io.Writer
	programs   []program
	moduleRoot func(context.Context) (string, error)
	releases   releases
}

func find(ctx context.Context, f finder) (Assets, error) {
	var assets Assets
	var missing []program
	for _, p := range f.programs {
		given := filepath.Join(f.given, p.name)
		if f.given != "" && isExecutable(given) {
			*p.path(&assets) = given
			continue
		}
		missing = append(missing, p)
	}
	if len(missing) == 0 {
		return assets, nil
	}

	root, err := f.moduleRoot(ctx)
	if err != nil {
		return Assets{}, err
	}
	groups := byModule(missing)
	for i, group := range groups {
		b := builder{
			programs:  group,
			moduleDir: filepath.Join(root, filepath.FromSlash(group[0].build.dir)),
			cacheDir:  f.cacheDir,
			progress:  f.progress,
			releases:  f.releases,
			ordinal:   fmt.Sprintf("%d of %d", i+1, len(groups)),
		}
		dir, err := b.ensure(ctx)
		if err != nil {
			return Assets{}, err
		}
		for _, p := range group {
			*p.path(&assets) = filepath.Join(dir, p.name)
		}
	}
	return assets, nil
}

// byModule groups programs that one command can build, in their order.
func byModule(programs []program) [][]program {
	var groups [][]program
	index := map[buildModule]int{}
	for _, p := range programs {
		at, known := index[p.build]
		if !known {
			at = len(groups)
			index[p.build] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], p)
	}
	return groups
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

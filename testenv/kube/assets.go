package kube

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// The versions that the modules in build/ pin.
const (
	// KubernetesVersion is the version of the binaries that Binaries builds.
	KubernetesVersion = "v1.36.3"
	kwokVersion       = "v0.8.0"
	helmVersion       = "v4.2.4"
)

// Assets are the absolute paths of the programs a cluster is made of.
type Assets struct {
	Etcd              string
	APIServer         string
	Scheduler         string
	ControllerManager string
	Kubectl           string
	// Kwok plays the kubelets of machines that do not exist; the control plane
	// does not run it, testenv/machine does.
	Kwok string
	// Helm installs charts; testenv/helm runs it.
	Helm string
}

// program is one binary: how it is called on disk and what it is built from.
type program struct {
	name  string
	pkg   string
	build buildModule
	path  func(*Assets) *string
}

// buildModule is a Go module whose requirements pin the programs.
type buildModule struct {
	dir     string // below this package's folder
	version string // for the name of the cache folder
	ldflags string
}

func programs() []program {
	const version = "k8s.io/component-base/version"
	control := buildModule{
		dir:     "build",
		version: KubernetesVersion,
		ldflags: "-s -w -X " + version + ".gitVersion=" + KubernetesVersion +
			" -X " + version + ".gitMajor=1 -X " + version + ".gitMinor=36 -X " + version + ".gitTreeState=clean",
	}
	nodes := buildModule{dir: "build/kwok", version: "kwok-" + kwokVersion, ldflags: "-s -w"}
	charts := buildModule{dir: "build/helm", version: "helm-" + helmVersion, ldflags: "-s -w"}
	return []program{
		{"etcd", "go.etcd.io/etcd/server/v3", control, func(a *Assets) *string { return &a.Etcd }},
		{"kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver", control, func(a *Assets) *string { return &a.APIServer }},
		{"kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler", control, func(a *Assets) *string { return &a.Scheduler }},
		{"kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager", control, func(a *Assets) *string { return &a.ControllerManager }},
		{"kubectl", "k8s.io/kubernetes/cmd/kubectl", control, func(a *Assets) *string { return &a.Kubectl }},
		{"kwok", "sigs.k8s.io/kwok/cmd/kwok", nodes, func(a *Assets) *string { return &a.Kwok }},
		{"helm", "helm.sh/helm/v4/cmd/helm", charts, func(a *Assets) *string { return &a.Helm }},
	}
}

// Binaries returns every program of Assets. One found in the folder that the
// environment variable KUBEBUILDER_ASSETS names is used as it is, whatever its
// version. The others come from the user's cache folder (os.UserCacheDir,
// joiner/kube), where they are built first if they are not there: that takes
// some ten minutes on two cores, the first time.
//
// progress takes a line when something is built, and one every few seconds
// meanwhile; nothing is written when all is there. Several processes may call
// this at once: one builds, the others wait for it. The error of a build
// carries the end of the compiler's output.
func Binaries(ctx context.Context, progress io.Writer) (Assets, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return Assets{}, fmt.Errorf("find the user's cache folder: %w", err)
	}
	return find(ctx, finder{
		cacheDir:   filepath.Join(cache, "joiner", "kube"),
		given:      os.Getenv("KUBEBUILDER_ASSETS"),
		progress:   progress,
		programs:   programs(),
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

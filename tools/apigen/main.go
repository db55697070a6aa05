// Command apigen writes what is generated from the API types: the deepcopy functions beside them and the CRDs of
// shared/api/crds, with a copy of them in the chart, which can hold nothing from outside its folder. It runs controller-gen's generators; the markers of the types decide nearly everything, and patch.go
// the few things that markers cannot say about types of Kubernetes' own.
//
//	go -C tools run ./apigen          # write
//	go -C tools run ./apigen -check   # write nothing; exit 1 and name the files where writing would change something
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/deepcopy"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
)

// sources are the packages with API types, crdDirectory is where their CRDs go, and chartDirectory where the chart has them,
// all below the repository's root.
var sources = []string{"./shared/api/v1", "./shared/api/v1alpha1", "./shared/api/awsv1",
	"./shared/api/autoscalingv1beta1"}

const (
	crdDirectory   = "shared/api/crds"
	chartDirectory = "infra/chart/files/crds"
)

func main() {
	root := flag.String("root", "..", "the repository's root")
	check := flag.Bool("check", false, "write nothing; fail where writing would change something")
	flag.Parse()
	if err := run(*root, *check); err != nil {
		fmt.Fprintln(os.Stderr, "apigen:", err)
		os.Exit(1)
	}
}

func run(root string, check bool) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	files, err := generate(root)
	if err != nil {
		return err
	}
	if check {
		return compare(root, files)
	}
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the generated files by their path below root.
func generate(root string) (map[string][]byte, error) {
	var object genall.Generator = deepcopy.Generator{}
	omit := true // the version is in tools/go.mod
	var schema genall.Generator = crd.Generator{OmitToolVersion: &omit}
	generators := genall.Generators{&object, &schema}
	runtime, err := generators.ForRootsWithConfig(&packages.Config{Dir: root}, sources...)
	if err != nil {
		return nil, fmt.Errorf("load API types: %w", err)
	}
	out := &memory{root: root, files: map[string]*bytes.Buffer{}}
	runtime.OutputRules = genall.OutputRules{Default: out}
	if failed := runtime.Run(); failed {
		return nil, errors.New("generate: see the errors above")
	}
	files := map[string][]byte{}
	for name, buffer := range out.files {
		files[name] = buffer.Bytes()
		if strings.HasPrefix(name, crdDirectory) {
			if files[name], err = patch(buffer.Bytes()); err != nil {
				return nil, fmt.Errorf("patch %s: %w", name, err)
			}
			files[chartDirectory+strings.TrimPrefix(name, crdDirectory)] = files[name]
		}
	}
	return files, nil
}

// compare returns an error that names the generated files in root that are missing, different or no longer generated.
func compare(root string, files map[string][]byte) error {
	var stale []string
	for name, content := range files {
		have, err := os.ReadFile(filepath.Join(root, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if !bytes.Equal(have, content) {
			stale = append(stale, name)
		}
	}
	for _, directory := range []string{crdDirectory, chartDirectory} {
		there, err := filepath.Glob(filepath.Join(root, directory, "*.yaml"))
		if err != nil {
			return err
		}
		for _, path := range there {
			if name := directory + "/" + filepath.Base(path); !slices.Contains(slices.Collect(maps.Keys(files)), name) {
				stale = append(stale, name)
			}
		}
	}
	if len(stale) == 0 {
		return nil
	}
	slices.Sort(stale)
	return fmt.Errorf("not what the types say, run go generate ./shared/api/...: %s", strings.Join(stale, ", "))
}

// memory keeps generated files by their path below root instead of writing them.
type memory struct {
	root  string
	files map[string]*bytes.Buffer
}

// Open returns the file name beside the sources of pkg, or among the CRDs where there is no package.
func (m *memory) Open(pkg *loader.Package, name string) (io.WriteCloser, error) {
	directory := crdDirectory
	if pkg != nil {
		relative, err := filepath.Rel(m.root, filepath.Dir(pkg.CompiledGoFiles[0]))
		if err != nil {
			return nil, err
		}
		directory = filepath.ToSlash(relative)
	}
	buffer := &bytes.Buffer{}
	m.files[directory+"/"+name] = buffer
	return unclosable{buffer}, nil
}

type unclosable struct{ io.Writer }

func (unclosable) Close() error { return nil }

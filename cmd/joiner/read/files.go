package read

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
)

// Stdin is the path that means standard input.
const Stdin = "-"

// extensions are those of the files taken from a folder.
var extensions = []string{".json", ".yaml", ".yml"}

// kustomizations are files of kustomize's own.
var kustomizations = []string{"kustomization.yaml", "kustomization.yml"}

// source is one text to read.
type source struct {
	name string // as a person knows it
	path string // a URL too; empty = standard input
}

// IsURL reports whether a path is one of HTTP.
func IsURL(path string) bool {
	return strings.HasPrefix(path, "https://") || strings.HasPrefix(path, "http://")
}

// sources returns the files that paths name, each given by a flag: a file itself, a folder's files by name, one level
// deep or all, or a URL.
func sources(flag string, paths []string, recursive bool) ([]source, error) {
	var out []source
	stdin := false
	for _, path := range paths {
		if path == Stdin {
			if stdin {
				return nil, fmt.Errorf("%s -: standard input can be read only once; give it once", flag)
			}
			stdin = true
			out = append(out, source{name: "standard input"})
			continue
		}
		if IsURL(path) {
			out = append(out, source{name: path, path: path})
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", flag, path, plain(err))
		}
		if !info.IsDir() {
			out = append(out, source{name: path, path: path})
			continue
		}
		files, err := folder(flag, path, recursive)
		if err != nil {
			return nil, err
		}
		out = append(out, files...)
	}
	return out, nil
}

func folder(flag, path string, recursive bool) ([]source, error) {
	out, err := filesOf(flag, path, recursive)
	if err == nil && len(out) == 0 {
		hint := "; its subfolders are not read without -R"
		if recursive {
			hint = ""
		}
		return nil, fmt.Errorf("%s %s: the folder has no file that ends in %s%s", flag, path,
			strings.Join(extensions, ", "), hint)
	}
	return out, err
}

func filesOf(flag, path string, recursive bool) ([]source, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", flag, path, plain(err))
	}
	var out []source
	for _, entry := range entries {
		file := filepath.Join(path, entry.Name())
		if entry.IsDir() && recursive { // and no link to one: those may lead in circles
			below, err := filesOf(flag, file, true)
			if err != nil {
				return nil, err
			}
			out = append(out, below...)
			continue
		}
		if slices.Contains(kustomizations, entry.Name()) { // no objects, but which there are
			continue
		}
		if !slices.Contains(extensions, filepath.Ext(strings.TrimSuffix(file, ".gz"))) {
			continue
		}
		info, err := os.Stat(file) // through links, as a mounted ConfigMap has them
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", flag, file, plain(err))
		}
		if info.Mode().IsRegular() {
			out = append(out, source{name: file, path: file})
		}
	}
	return out, nil
}

// plain leaves out of an error what is already said in front of it.
func plain(err error) error {
	if at, ok := err.(*fs.PathError); ok {
		return at.Err
	}
	return err
}

// open returns the source's text, uncompressed.
func (s source) open(stdin io.Reader) (io.Reader, func(), error) {
	file, done := stdin, func() {}
	switch {
	case IsURL(s.path):
		answer, err := http.Get(s.path)
		if err != nil {
			return nil, done, err
		}
		done = func() { answer.Body.Close() }
		if file = answer.Body; answer.StatusCode != http.StatusOK {
			return nil, done, fmt.Errorf("%s: the server answers %s", s.name, answer.Status)
		}
	case s.path != "":
		opened, err := os.Open(s.path)
		if err != nil {
			return nil, done, fmt.Errorf("%s: %w", s.name, plain(err))
		}
		file, done = opened, func() { opened.Close() }
	}
	text, err := Uncompressed(file)
	if err != nil {
		done()
		return nil, func() {}, fmt.Errorf("%s: %w", s.name, err)
	}
	return text, done, nil
}

// Uncompressed returns the text of a reader that may be compressed with gzip.
func Uncompressed(from io.Reader) (io.Reader, error) {
	buffered := bufio.NewReaderSize(from, 64<<10)
	if start, _ := buffered.Peek(2); !bytes.Equal(start, []byte{0x1f, 0x8b}) {
		return buffered, nil // an error shows again at the first read
	}
	unpacked, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, fmt.Errorf("read as gzip: %w", err)
	}
	return unpacked, nil
}

// pageObjects is how many objects an API server is asked for at once.
const pageObjects = 500

// Live reads from an API server what Files reads of files. Kinds that it does not have are left out.
func Live(server genericclioptions.RESTClientGetter, options Options) (*Cluster, error) {
	options.AsSeen = true
	mapper, err := server.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	c := newCollector(options)
	for _, k := range slices.SortedFunc(maps.Keys(kinds), func(a, b kind) int {
		return strings.Compare(a.String(), b.String())
	}) {
		if kinds[k].written {
			continue
		}
		version, err := schema.ParseGroupVersion(k.apiVersion)
		if err != nil {
			return nil, err
		}
		mapping, err := mapper.RESTMapping(schema.GroupKind{Group: version.Group, Kind: k.name}, version.Version)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		b, name := &batch{}, mapping.Resource
		list := resource.NewBuilder(server).Unstructured().AllNamespaces(true).RequestChunksOf(pageObjects).
			ResourceTypes(name.Resource + "." + name.Version + "." + name.Group).SelectAllParam(true).Flatten().Do()
		if err := visited(list, b, place{source: "the cluster"}); err != nil {
			return nil, fmt.Errorf("list objects of kind %s: %w", k, err)
		}
		c.take(b)
	}
	if err := errors.Join(c.problems...); err != nil {
		return nil, err
	}
	return c.cluster(options), nil
}

// visited reads the objects of a result of kubectl's library.
func visited(list *resource.Result, b *batch, at place) error {
	return list.Visit(func(info *resource.Info, err error) error {
		if err != nil {
			return err
		}
		raw, err := info.Object.(*unstructured.Unstructured).MarshalJSON()
		if err == nil {
			b.read.value(raw, kind{}, at, 0)
		}
		return err
	})
}

// kustomized takes the objects that kustomize builds of a folder or a URL, as kubectl -k does.
func (c *collector) kustomized(folder string) error {
	b := &batch{}
	built := resource.NewLocalBuilder().Unstructured().
		FilenameParam(false, &resource.FilenameOptions{Kustomize: folder}).Flatten().Do()
	if err := visited(built, b, place{source: "-k " + folder}); err != nil {
		return fmt.Errorf("-k %s: %w", folder, err)
	}
	c.take(b)
	return nil
}

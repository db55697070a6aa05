package read

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Stdin is the path that means standard input.
const Stdin = "-"

// extensions are those of the files taken from a folder.
var extensions = []string{".json", ".yaml", ".yml"}

// source is one text to read.
type source struct {
	name string // as a person knows it
	path string // empty = standard input
}

// sources returns the files that paths name, each given by a flag: a file itself, a folder's files one level deep, by name.
func sources(flag string, paths []string) ([]source, error) {
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
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", flag, path, plain(err))
		}
		if !info.IsDir() {
			out = append(out, source{name: path, path: path})
			continue
		}
		files, err := folder(flag, path)
		if err != nil {
			return nil, err
		}
		out = append(out, files...)
	}
	return out, nil
}

func folder(flag, path string) ([]source, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", flag, path, plain(err))
	}
	var out []source
	for _, entry := range entries {
		file := filepath.Join(path, entry.Name())
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
	if len(out) == 0 {
		return nil, fmt.Errorf("%s %s: the folder has no file that ends in %s; its subfolders are not read", flag, path, strings.Join(extensions, ", "))
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
	file := stdin
	done := func() {}
	if s.path != "" {
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

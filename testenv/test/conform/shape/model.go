package shape

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Model is a service as botocore describes it.
type Model struct {
	Metadata struct {
		Protocol  string
		ServiceID string `json:"serviceId"`
	}
	Operations map[string]operation
	Shapes     map[string]*shape
}

type operation struct {
	Input, Output *ref
}

type ref struct {
	Shape         string
	LocationName  string
	QueryName     string
	Flattened     bool
	ResultWrapper string
}

type shape struct {
	Type       string
	Members    map[string]ref
	Member     *ref // of a list
	Key, Value *ref // of a map
	Required   []string
	Enum       []string
	Min, Max   *float64 // of a text's characters, a list's or map's entries, a number
	Pattern    string   // of a text
	Flattened  bool
}

// folders of botocore's data by the service of the credential scope, where they differ.
var folders = map[string]string{}

// Load reads the newest model of a service from botocore's data folder.
func Load(data, service string) (*Model, error) {
	folder := service
	if other, ok := folders[service]; ok {
		folder = other
	}
	files, err := filepath.Glob(filepath.Join(data, folder, "*", "service-2.json*"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no model of %s below %s", service, data)
	}
	slices.Sort(files) // folders are named by date
	return read(files[len(files)-1])
}

func read(path string) (*Model, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var from io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		if from, err = gzip.NewReader(file); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	m := &Model{}
	if err := json.NewDecoder(from).Decode(m); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return m, nil
}

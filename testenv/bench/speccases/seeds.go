package speccases

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"
)

// Seeds are what fuzz tests start from: the smallest of the cases' objects that together have every field and word of all, see Distinct.
type Seeds struct {
	Pods      []json.RawMessage          `json:"pods"`
	NodePools []json.RawMessage          `json:"nodePools"`
	Clusters  []Cluster                  `json:"clusters"`
	Catalogs  map[string]json.RawMessage `json:"catalogs"` // by digest
}

// Cluster is what one case is about.
type Cluster struct {
	Objects json.RawMessage `json:"objects"` // an array
	Catalog string          `json:"catalog"` // its digest
}

// The largest that seeds are: fuzz tests try each in turn, and larger ones say nothing that smaller ones do not.
const (
	maxCluster = 24 << 10
	maxCatalog = 16 << 10
)

//go:embed seeds.json.gz
var seeds []byte

// Kept reads the seeds that are kept beside this package.
var Kept = sync.OnceValues(func() (*Seeds, error) {
	out := new(Seeds)
	reader, err := gzip.NewReader(bytes.NewReader(seeds))
	if err != nil {
		return nil, fmt.Errorf("seeds.json.gz: %w", err)
	}
	if err := json.NewDecoder(reader).Decode(out); err != nil {
		return nil, fmt.Errorf("seeds.json.gz: %w", err)
	}
	return out, nil
})

// List returns the cluster's objects as one object of kind List, in JSON.
func (c *Cluster) List() []byte {
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"List","items":%s}`, c.Objects)
}

// Seeds picks them out of the cases.
func (c *Cases) Seeds() (*Seeds, error) {
	out := &Seeds{Pods: c.objects("Pod"), NodePools: c.objects("NodePool"), Catalogs: map[string]json.RawMessage{}}
	catalogs := map[string]string{} // digests by the text of objects
	var texts []json.RawMessage
	for i := range c.Cases {
		of := &c.Cases[i]
		text, err := json.Marshal(of.Objects)
		if err != nil {
			return nil, fmt.Errorf("case %d: %w", i, err)
		}
		if len(text) <= maxCluster && len(c.Catalogs[of.Catalog]) <= maxCatalog {
			texts, catalogs[string(text)] = append(texts, text), of.Catalog
		}
	}
	for _, text := range Distinct(texts) {
		digest := catalogs[string(text)]
		out.Clusters, out.Catalogs[digest] = append(out.Clusters, Cluster{text, digest}), c.Catalogs[digest]
	}
	return out, nil
}

// Packed returns the seeds as they are kept.
func (s *Seeds) Packed() ([]byte, error) {
	var out bytes.Buffer
	packer, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if err := json.NewEncoder(packer).Encode(s); err != nil {
		return nil, err
	}
	if err := packer.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

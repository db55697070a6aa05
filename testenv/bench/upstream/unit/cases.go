package unit

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/joiner-sh/joiner/testenv/bench/speccases"
)

// collect makes cases of the plans that specs which passed asked for; a question that was put before is left out.
func collect(version string, all []Outcome, questions map[string][]input) (*speccases.Cases, error) {
	passed := map[string]bool{}
	for _, o := range all {
		key := o.Suite + "\n" + o.Place + "\n" + o.text
		was, twice := passed[key]
		passed[key] = o.Status == Passed && (was || !twice)
	}
	out := &speccases.Cases{Karpenter: version, Catalogs: map[string]json.RawMessage{}}
	seen := map[string]bool{}
	var suites []string
	for suite := range questions {
		suites = append(suites, suite)
	}
	slices.Sort(suites)
	for _, suite := range suites {
		for i := range questions[suite] {
			q := &questions[suite][i]
			if !passed[suite+"\n"+q.Place+"\n"+q.Spec] || q.Status != 0 || q.Args[0] != "plan" {
				continue
			}
			want, err := Essence(q.Answer)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", q.Spec, err)
			}
			digest := sha256.Sum256(q.Catalog)
			c := speccases.Case{Suite: suite, Spec: q.Spec, Call: q.Call, Args: q.Args, Objects: q.Objects, Catalog: hex.EncodeToString(digest[:8]), Want: want}
			text, err := json.Marshal([]any{c.Args, c.Objects, c.Catalog})
			if err != nil {
				return nil, err
			}
			if seen[string(text)] {
				continue
			}
			seen[string(text)] = true
			out.Catalogs[c.Catalog] = q.Catalog
			out.Cases = append(out.Cases, c)
		}
	}
	return out, nil
}

// Essence is what of an answer a spec can be about: which pods go where, on what that is bought how, and which go nowhere for which reasons.
func Essence(answer json.RawMessage) (json.RawMessage, error) {
	type claim struct {
		NodePool      string            `json:"nodePool"`
		InstanceTypes []string          `json:"instanceTypes"`
		Types         int               `json:"types"`
		Zones         []string          `json:"zones"`
		CapacityTypes []string          `json:"capacityTypes"`
		Labels        map[string]string `json:"labels,omitempty"`
		Pods          []string          `json:"pods"`
	}
	type nomination struct {
		Node string   `json:"node"`
		Pods []string `json:"pods"`
	}
	var plan struct {
		Claims        []claim      `json:"claims,omitempty"`
		Nominations   []nomination `json:"nominations,omitempty"`
		Unschedulable []struct {
			Pod     string `json:"pod"`
			Reasons []struct {
				NodePool string `json:"nodePool,omitempty"`
				Code     string `json:"code"`
			} `json:"reasons"`
		} `json:"unschedulable,omitempty"`
		Commands []struct {
			Reason       string       `json:"reason"`
			Nodes        []string     `json:"nodes"`
			Replacements []claim      `json:"replacements,omitempty"`
			Moves        []nomination `json:"moves,omitempty"`
		} `json:"commands,omitempty"`
	}
	if err := json.Unmarshal(answer, &plan); err != nil {
		return nil, err
	}
	cut := func(claims []claim) {
		for i := range claims {
			c := &claims[i]
			c.Types = len(c.InstanceTypes)
			c.InstanceTypes = c.InstanceTypes[:min(1, c.Types)] // the cheapest; the others by their number
		}
	}
	cut(plan.Claims)
	for i := range plan.Commands {
		cut(plan.Commands[i].Replacements)
	}
	return json.Marshal(plan)
}

// writeCases writes what speccases.Read reads.
func writeCases(path string, cases *speccases.Cases) error {
	var out bytes.Buffer
	packer, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(packer).Encode(cases); err != nil {
		return err
	}
	if err := packer.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}

// writeSeeds writes what package speccases keeps for fuzz tests.
func writeSeeds(path string, cases *speccases.Cases) error {
	seeds, err := cases.Seeds()
	if err != nil {
		return err
	}
	packed, err := seeds.Packed()
	if err != nil {
		return err
	}
	return os.WriteFile(path, packed, 0o644)
}

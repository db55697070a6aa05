package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// module is what go list says of one.
type module struct {
	Path, Version, Dir string
	Main               bool
	Replace            *module
}

// phrases tell a license by words that only its text has, all of them; the first that fits counts. Names are those of SPDX.
// Each is compatible with ours: it may be shipped in binaries under Apache-2.0, MPL-2.0 as files nobody changed.
var phrases = []struct {
	name string
	has  []string
}{
	{"Apache-2.0", []string{"Apache License", "Version 2.0, January 2004"}},
	{"MPL-2.0", []string{"Mozilla Public License", "2.0"}},
	{"BSD-3-Clause", []string{"Redistribution and use in source and binary forms", "endorse or promote products derived"}},
	{"BSD-2-Clause", []string{"Redistribution and use in source and binary forms"}},
	{"ISC", []string{"Permission to use, copy, modify, and/or distribute this software for any purpose"}},
	{"ISC", []string{"Permission to use, copy, modify, and distribute this software for any purpose"}},
	{"MIT", []string{"Permission is hereby granted, free of charge", "The above copyright notice and this permission notice"}},
	{"MIT-0", []string{"Permission is hereby granted, free of charge", "without restriction", "THE SOFTWARE IS PROVIDED \"AS IS\""}},
	{"CC0-1.0", []string{"CC0 1.0 Universal"}},
	{"Unlicense", []string{"This is free and unencumbered software released into the public domain"}},
}

// recognize names a license by its text; "" where it is none of those known. A text that names the GPL as its own is not.
func recognize(text string) string {
	words := strings.Join(strings.Fields(text), " ")
	if strings.Contains(words, "GNU GENERAL PUBLIC LICENSE") || strings.Contains(words, "GNU AFFERO") || strings.Contains(words, "GNU LESSER") {
		return ""
	}
	for _, p := range phrases {
		if !slices.ContainsFunc(p.has, func(phrase string) bool { return !strings.Contains(words, phrase) }) {
			return p.name
		}
	}
	return ""
}

// licenseOf reads the license files of a module's folder: of several kinds all count, in order of name.
func licenseOf(folder string) (string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	var found []string
	for _, entry := range entries {
		name := strings.ToUpper(entry.Name())
		if entry.IsDir() || !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "COPYING") && !strings.HasPrefix(name, "UNLICENSE") ||
			strings.HasPrefix(name, "LICENSE-SUMMARY") { // says which of the other files goes for what
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return "", err
		}
		license := recognize(string(text))
		if license == "" {
			return "", fmt.Errorf("%s: not a license that is known to be compatible; read it, and add it to tools/supply or drop the dependency", filepath.Join(folder, entry.Name()))
		}
		if !slices.Contains(found, license) {
			found = append(found, license)
		}
	}
	if len(found) == 0 {
		return "", fmt.Errorf("%s: no license file; ask its authors, or drop the dependency", folder)
	}
	slices.Sort(found)
	return strings.Join(found, " AND "), nil
}

// modules lists the modules that packages are built of for Linux, but for the main one, by path.
func modules(packages []string) ([]module, error) {
	list := exec.Command("go", append([]string{"list", "-deps", "-tags", "lambda.norpc", "-json=Module"}, packages...)...)
	list.Env, list.Stderr = append(os.Environ(), "GOOS=linux"), os.Stderr
	text, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	known := map[string]module{}
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		var of struct{ Module *module }
		if err := decoder.Decode(&of); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read what go list says: %w", err)
		}
		if of.Module == nil || of.Module.Main {
			continue // the standard library, and ourselves
		}
		m := *of.Module
		if m.Replace != nil {
			m.Dir = m.Replace.Dir
		}
		known[m.Path] = m
	}
	var out []module
	for _, m := range known {
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// licenses writes a line of CSV for each module, and for each package of npm that is built in, without versions, so that it changes when somebody must look at it.
func licenses(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("licenses", flag.ContinueOnError)
	check := flags.String("check", "", "compare with this file in place of writing")
	lock := flags.String("npm", "", "package-lock.json of what is built into a program")
	if err := flags.Parse(args); err != nil {
		return err
	}
	all, err := modules(flags.Args())
	if err != nil {
		return err
	}
	var text bytes.Buffer
	table := csv.NewWriter(&text)
	rows, failed := [][]string{{"module", "license"}}, error(nil)
	for _, m := range all {
		license, err := licenseOf(m.Dir)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("module %s: %w", m.Path, err))
			continue
		}
		rows = append(rows, []string{m.Path, license})
	}
	if failed != nil {
		return failed
	}
	if *lock != "" {
		built, err := pages(*lock)
		if err != nil {
			return err
		}
		for _, p := range built {
			rows = append(rows, []string{"npm:" + p.Name, p.License})
		}
	}
	if err := table.WriteAll(rows); err != nil {
		return err
	}
	if *check == "" {
		_, err = out.Write(text.Bytes())
		return err
	}
	stored, err := os.ReadFile(*check)
	if err != nil {
		return err
	}
	if !bytes.Equal(stored, text.Bytes()) {
		return fmt.Errorf("%s does not match the modules that the programs are built of; run `make licenses`, check what changed, and commit it", *check)
	}
	return nil
}

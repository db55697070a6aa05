package stack

import (
	"archive/zip"
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"strings"
)

// programOf returns which of the project's functions a deployment package holds, by what Go wrote into its executable. Machines of this kind may be unable
// to run that one, which is built for arm64: the same function is built for them from the same sources.
func programOf(text []byte) (string, error) {
	archive, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		return "", fmt.Errorf("it is no zip: %w", err)
	}
	file, err := archive.Open("bootstrap")
	if err != nil {
		return "", errors.New("it holds no file bootstrap, which the runtime provided.al2023 starts")
	}
	defer file.Close()
	program, err := io.ReadAll(file)
	if err != nil {
		return "", err
	}
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return "", fmt.Errorf("its bootstrap is no program of Go's: %w", err)
	}
	name, ok := strings.CutPrefix(info.Path, info.Main.Path+"/functions/")
	if !ok {
		return "", fmt.Errorf("its bootstrap is %s, which is no function of this project", info.Path)
	}
	return name, nil
}

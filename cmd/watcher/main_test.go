package main

import (
	"os"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/kube"
)

func TestMain(m *testing.M) { os.Exit(kube.Alone(m.Run)) }

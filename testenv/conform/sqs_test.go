package conform_test

import (
	"testing"

	"github.com/joiner-sh/joiner/testenv/conform"
)

func TestSQS(t *testing.T) { conform.Each(t, nil, conform.SQS) }

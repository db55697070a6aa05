package conform_test

import (
	"testing"

	"github.com/joiner-sh/joiner/testenv/test/conform"
)

func TestSQS(t *testing.T) { conform.Each(t, nil, conform.SQS) }

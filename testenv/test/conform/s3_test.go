package conform_test

import (
	"testing"

	"github.com/joiner-sh/joiner/testenv/test/conform"
)

func TestS3(t *testing.T) { conform.Each(t, nil, conform.S3) }

package review_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/growthexport/internal/review"
)

func TestLimitsInJSON(t *testing.T) {
	t.Parallel()
	limits := review.Limits{
		MaxFailedSchools: 3, MaxShrink: review.Share{Part: 0.2}, MaxRemoved: review.Share{Part: 0.125}, MaxEmptied: review.Share{Off: true},
	}
	data, err := json.Marshal(limits)
	require.NoError(t, err)
	require.JSONEq(t, `{"max_failed_schools": 3, "max_shrink": "20%", "max_removed": "12.5%", "max_changed": "0%", "max_emptied": "off",
		"strict_checks": false}`, string(data))
	var read review.Limits
	require.NoError(t, json.Unmarshal(data, &read))
	require.Equal(t, limits, read)
	require.NoError(t, json.Unmarshal([]byte(`{"max_shrink": "20 %"}`), &read))
	require.Equal(t, limits.MaxShrink, read.MaxShrink)
	for _, bad := range []string{`"20 "`, `" %"`, `"101%"`, `"20"`, `20`, `""`, `"NaN%"`} {
		require.Error(t, json.Unmarshal([]byte(`{"max_shrink": `+bad+`}`), &read), bad)
	}
}

func TestShareExceeded(t *testing.T) {
	t.Parallel()
	tenth := review.Share{Part: 0.1}
	require.False(t, tenth.Exceeded(10, 100))
	require.True(t, tenth.Exceeded(11, 100))
	require.False(t, tenth.Exceeded(0, 0))
	require.False(t, review.Share{}.Exceeded(-5, 0))
	require.True(t, review.Share{}.Exceeded(1, 100))
	require.False(t, review.Share{Off: true}.Exceeded(100, 100))
}

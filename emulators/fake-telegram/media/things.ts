/** What people send that is neither text nor a file, as the Bot API has it. */

/** A chat that the bot is not in. */
const ELSEWHERE = { id: -1_001_000_000_077, type: "channel", title: "Elsewhere" } as const;

export const THINGS = {
  dice: { dice: { emoji: "🎲", value: 4 } },
  story: { story: { chat: ELSEWHERE, id: 7 } },
  poll: {
    poll: {
      id: "5000000000000000001",
      question: "Tea or coffee?",
      options: [
        { text: "Tea", voter_count: 0 },
        { text: "Coffee", voter_count: 0 },
      ],
      total_voter_count: 0,
      is_closed: false,
      is_anonymous: true,
      type: "regular",
      allows_multiple_answers: false,
    },
  },
  location: { location: { latitude: 52.52, longitude: 13.405 } },
  venue: {
    location: { latitude: 52.52, longitude: 13.405 },
    venue: { location: { latitude: 52.52, longitude: 13.405 }, title: "A place", address: "1 Street" },
  },
  contact: { contact: { phone_number: "+4930123456", first_name: "Eve", user_id: 77 } },
  game: { game: { title: "A game", description: "To play", photo: [] } },
  checklist: {
    checklist: { title: "To do", tasks: [{ id: 1, text: "Water the plants" }] },
  },
  giveaway: { giveaway: { chats: [ELSEWHERE], winners_selection_date: 2_000_000_000, winner_count: 1 } },
} as const;
export type Thing = keyof typeof THINGS;

export function isThing(name: string): name is Thing {
  return Object.hasOwn(THINGS, name);
}
